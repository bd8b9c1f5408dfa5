"""Which keys are due when: an index that finds what a watermark closes without looking at anything else.

It is derived from an operator's tables and never stored. A key may be added again for another time, and is then given
out at both; whoever takes it looks into the table to see whether there is still something to do.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from services.operators.emptying import emptied


class Due:
    """Keys by the time at which they are due. Adding to a time that is known costs one dictionary look-up."""

    __slots__ = ("_keys", "_times")

    def __init__(self) -> None:
        self._keys: dict[int, list[Any]] = {}
        self._times: list[int] = []

    def add(self, time_ms: int, key: Any) -> None:
        """`key` is due at `time_ms`."""
        keys = self._keys.get(time_ms)
        if keys is None:
            self._keys[time_ms] = [key]
            heappush(self._times, time_ms)
        else:
            keys.append(key)

    def take(self, until_ms: int) -> Iterator[tuple[int, list[Any]]]:
        """Remove and give out what is due at `until_ms` or before: each time with its keys, earliest time first."""
        while self._times and self._times[0] <= until_ms:
            time_ms = heappop(self._times)
            yield time_ms, self._keys.pop(time_ms)

    def drop(self, until_ms: int) -> None:
        """Remove what is due at `until_ms` or before: others have seen to it."""
        for _ in self.take(until_ms):
            pass

    def forget(self) -> Iterator[None]:
        """Remove everything, a portion with each step."""
        yield from emptied(self._keys)
        self._times.clear()
