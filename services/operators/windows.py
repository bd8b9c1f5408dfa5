"""Windows of fixed size in event time: which of them a record is in, and which a watermark closes.

A window [start, start + size) begins at every multiple of the hop since the epoch, also before it. A tumbling window is
one whose hop is its size. A record at t is in each window with start <= t < start + size. A window closes when the
watermark reaches its end.

Overlapping windows share work through panes: pieces of gcd(hop, size) ms from which every window can be put together.
A record then changes one pane instead of size / hop windows, and panes are merged when a window closes (Li et al.,
"No pane, no gain", doi:10.1145/1058150.1058158).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from topics.flow.specs import Window


@dataclass(frozen=True, slots=True)
class Windows:
    """The arithmetic of windows and panes. All arguments and results are ms of event time."""

    size_ms: int
    hop_ms: int

    def __post_init__(self) -> None:
        assert 0 < self.hop_ms <= self.size_ms, self

    @classmethod
    def of(cls, window: Window) -> "Windows":
        """The windows that a tumbling or hopping spec asks for."""
        assert window.size_ms is not None, window
        return cls(window.size_ms, window.hop_ms or window.size_ms)

    @property
    def pane_ms(self) -> int:
        """How long a pane is."""
        return gcd(self.hop_ms, self.size_ms)

    def pane_starts(self, times: Sequence[int], span: tuple[int, int]) -> int | list[int]:
        """The start of each time's pane; only one number where it is the same for all (most batches are that short).

        `span`: two times with all others between them.
        """
        pane_ms = self.pane_ms
        first, last = span
        first -= first % pane_ms
        if last - last % pane_ms == first:
            return first
        return [time - time % pane_ms for time in times]

    def starts_of(self, time: int) -> range:
        """The starts of the windows that a time (or the pane that starts there) is in, earliest first."""
        return range(self._first_after(time - self.size_ms), time // self.hop_ms * self.hop_ms + 1, self.hop_ms)

    def last_end(self, pane: int) -> int:
        """The end of the last window that a pane is in: from then on nobody needs the pane."""
        return pane // self.hop_ms * self.hop_ms + self.size_ms

    def closing(self, panes: Sequence[int], after: int, until: int) -> Iterator[int]:
        """The starts of the windows that hold one of `panes` (sorted) and end in (after, until], earliest first."""
        start = self._first_after(after - self.size_ms)
        for pane in panes:
            if start + self.size_ms > until:
                return
            start = max(start, self._first_after(pane - self.size_ms))
            last = min(pane, until - self.size_ms)
            while start <= last:
                yield start
                start += self.hop_ms

    def _first_after(self, time: int) -> int:
        return (time // self.hop_ms + 1) * self.hop_ms
