"""Rest: rows that time has closed, handed out some at a time.

A window over a million groups closes in one moment. To make all its rows at once would keep a host from everything else
for seconds, and fill its memory. So an operator gives out some of them, with the watermark that held before, and the
others when it is asked again by batches without records (`Slices`). Only the last come with the new watermark: to
whoever reads them the close is so many small batches.
"""

from collections.abc import Iterable, Iterator

from services.operators.batch import Batch, Value

ClosedGroup = tuple[list[Value], bytes, int]
"""The rows of a group, their key and their event time."""
BREATH_GROUPS = 50_000
"""About so many groups may be looked at before there is a row, or a breath."""


class Rest:
    """Of one operator. `rows_max`: about so many at a time; None: all at once."""

    def __init__(self) -> None:
        self.rows_max: int | None = None
        self._pieces: Iterator[Batch] | None = None

    @property
    def is_left(self) -> bool:
        """Whether there is more to be handed out."""
        return self._pieces is not None

    def begin(self, groups: Iterable[ClosedGroup | None], before_ms: int, watermark_ms: int) -> None:
        """Time has moved on from one watermark to another, and closes these groups. None among them is a breath: it has
        taken so long to come so far that what there is may be handed out."""
        assert not self.is_left, "the rows of the last close have not all been taken"
        self._pieces = self._cut(groups, before_ms, watermark_ms)

    def take(self, watermark_ms: int) -> Batch:
        """Some rows; the last ones, or none if there are none, have the watermark."""
        if self._pieces is None:
            return Batch.empty(watermark_ms)
        piece = next(self._pieces)
        if piece.watermark_ms == watermark_ms:
            self._pieces = None
        return piece

    def _cut(self, groups: Iterable[ClosedGroup | None], before_ms: int, watermark_ms: int) -> Iterator[Batch]:
        values: list[Value] = []
        keys: list[bytes | None] = []
        times: list[int] = []
        for group in groups:
            if group is not None:
                rows, key, time_ms = group
                values += rows
                keys += [key] * len(rows)
                times += [time_ms] * len(rows)
            if self.rows_max is not None and (group is None or len(values) >= self.rows_max):
                yield Batch.derived(values, keys, times, before_ms)
                values, keys, times = [], [], []
        yield Batch.derived(values, keys, times, watermark_ms)
