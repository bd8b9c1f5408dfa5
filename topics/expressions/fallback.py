"""Joins the three forms of a compiled batch function, and remembers how the last batches went.

Fast: bare operators, raises at the first null it stumbles over. Careful: the fast one record by record, with the safe
one for those that fail; a little slower, and slow where many fail. Safe: never raises, two to five times slower.
All give the same results, so which one ran can't be seen in them, and the memory here is about speed alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

from topics.expressions.functions import FAULTS

Record = dict[str, Any]
BatchFunction = Callable[[Sequence[Record]], list[Any]]
CountingBatchFunction = Callable[[Sequence[Record]], tuple[list[Any], int]]

_MAX_PATIENCE = 256
"""Batches that go past the fast form after it has failed again and again."""

_MANY_FAULTS = 1 / 8
"""The share of failing records above which the safe form beats the careful one: a fault costs about 0.5 us."""


def with_fallback(fast: BatchFunction, careful: CountingBatchFunction, safe: BatchFunction) -> BatchFunction:
    """The fast form while all goes well; after a fault the careful or the safe one for this batch and the next ones.

    Twice as many batches go past the fast form after each further fault, so that a stream which always lacks a field
    hardly pays for the attempts.
    """
    patience = 1
    waiting = 0
    many_faults = False

    def batch(records: Sequence[Record]) -> list[Any]:
        nonlocal patience, waiting, many_faults
        if waiting:
            waiting -= 1
            if many_faults:
                return safe(records)
        else:
            try:
                results = fast(records)
            except FAULTS:
                waiting, patience = patience, min(patience * 2, _MAX_PATIENCE)
            else:
                patience = 1
                return results
        results, faults = careful(records)
        many_faults = faults > len(records) * _MANY_FAULTS
        return results

    return batch
