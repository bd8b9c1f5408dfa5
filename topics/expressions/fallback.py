"""Joins the fast and the safe form of a compiled batch function, and remembers how the last batches went."""

from collections.abc import Callable, Sequence
from typing import Any

from topics.expressions.functions import FAULTS

Record = dict[str, Any]
BatchFunction = Callable[[Sequence[Record]], list[Any]]

_MAX_PATIENCE = 256
"""Batches that go straight to the safe form after the fast one has failed again and again."""


def with_fallback(fast: BatchFunction, safe: BatchFunction) -> BatchFunction:
    """The fast form, with the safe one for a batch in which the fast one raises.

    Both give the same result where the fast one does not raise, so which one ran can't be seen in a result. After a
    failure the safe form keeps the next batches too, twice as many after each further failure, so that a stream which
    always lacks a field hardly pays for both.
    """
    patience = 1
    waiting = 0

    def batch(records: Sequence[Record]) -> list[Any]:
        nonlocal patience, waiting
        if waiting:
            waiting -= 1
            return safe(records)
        try:
            results = fast(records)
        except FAULTS:
            waiting, patience = patience, min(patience * 2, _MAX_PATIENCE)
            return safe(records)
        patience = 1
        return results

    return batch
