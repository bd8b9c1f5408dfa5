"""Portions: how many records at a time go to a program that waits for a user's function.

One fetch may bring a megabyte of compressed records, and a function may take its time for each: a whole fetch could
keep a task from its next commit, and a mover from its partition, for minutes.
"""

from collections.abc import Iterator, Sequence

from services.host.fetch import Record

PORTION_S = 0.5
"""About how long a portion is to take."""
FIRST_RECORDS = 1
"""One of an edge may be a block of thousands."""
GROWTH_MAX = 2.0


class Portions:
    """Cuts what was fetched; `took` tells it how long the last portion was at work.

    A portion has about as many records, and at most about as many bytes, as were worked off in its time before: small
    blocks say nothing of how many large ones are right.
    """

    def __init__(self) -> None:
        self._records = FIRST_RECORDS
        self._bytes = 0

    def of(self, records: Sequence[Record]) -> Iterator[list[Record]]:
        """All records, in order; the size of each portion is what is right by then."""
        begin = 0
        while begin < len(records):
            portion = self._fitting(records[begin : begin + self._records])
            begin += len(portion)
            yield portion

    def took(self, portion: Sequence[Record], seconds: float) -> None:
        """A portion took so long."""
        size = _size(portion)
        growth = min(GROWTH_MAX, PORTION_S / seconds) if seconds > 0 else GROWTH_MAX
        is_growing = growth >= 1
        self._records = max(1, round(len(portion) * growth), self._records if is_growing else 0)
        self._bytes = max(1, round(size * growth), self._bytes if is_growing else 0)

    def fits(self, portion: Sequence[Record]) -> bool:
        """Whether a portion will be done in about the time of one. A record that is larger is one by itself, and nobody
        knows how long it takes."""
        return len(portion) > 1 or _size(portion) <= self._bytes

    def _fitting(self, records: Sequence[Record]) -> list[Record]:
        size, count = 0, 0
        for record in records:
            size += _size((record,))
            if count and size > self._bytes:
                break
            count += 1
        return list(records[:count])


def _size(records: Sequence[Record]) -> int:
    return sum(1 + len(record.value or b"") for record in records)
