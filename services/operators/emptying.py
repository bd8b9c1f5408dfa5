"""Emptying what has grown large, a portion at a time.

Python frees a dictionary of a million entries in one go, for which everything else waits some hundred milliseconds.
"""

from collections.abc import Iterator
from typing import Any

PORTION_ENTRIES = 2_000
"""Freed in one go: a millisecond or two."""


def emptied(held: dict[Any, Any] | list[Any]) -> Iterator[None]:
    """Take everything out, some of it with each step; also what is in its dictionaries and lists, if that is much."""
    count = 0
    while held:
        value = held.popitem()[1] if isinstance(held, dict) else held.pop()
        count += 1
        if type(value) in (dict, list):
            if len(value) > PORTION_ENTRIES:
                yield from emptied(value)
            else:
                count += len(value)
        if count >= PORTION_ENTRIES:
            count = 0
            del value
            yield
