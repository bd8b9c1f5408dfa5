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
    """Cuts what was fetched; `took` tells it how long the last portion was at work."""

    def __init__(self) -> None:
        self._records = FIRST_RECORDS

    def of(self, records: Sequence[Record]) -> Iterator[list[Record]]:
        """All records, in order; the size of each portion is what is right by then."""
        begin = 0
        while begin < len(records):
            portion = list(records[begin : begin + self._records])
            begin += len(portion)
            yield portion

    def took(self, records: int, seconds: float) -> None:
        """A portion of so many records took so long."""
        growth = min(GROWTH_MAX, PORTION_S / seconds) if seconds > 0 else GROWTH_MAX
        self._records = max(1, round(records * growth), self._records if growth >= 1 else 0)
