"""How long nobody will work on a partition while it moves: predicted before, learned from what was measured after.

    pause = takeover + changes the standby has not yet read / rate of restoring

The takeover is what no size explains: telling the origin, the batch it is at, its commit, fencing, the first fetch. It
depends on what is moved (where its state is kept, how long a batch takes) and on the two hosts, how fast they are and
how far from their brokers. So the median of the last moves of the same segment between the same two counts, else of
those between the same two, else of the same segment, else of those that had one host in common, else of all. A median,
because the pause of a busy moment says nothing about the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median


@dataclass(frozen=True, slots=True)
class PauseParams:
    """What is assumed before anything was measured, and how much of the past counts."""

    takeover_ms: float = 80.0
    restore_per_s: float = 200_000.0
    remembered: int = 200
    """Moves."""
    newest: int = 9
    """Of those that are alike, so many count."""
    enough: int = 3
    """Fewer that are alike are left for a larger circle."""

    def __post_init__(self) -> None:
        assert min(self.takeover_ms, self.restore_per_s, self.enough) > 0, self
        assert self.enough <= self.newest <= self.remembered, self


@dataclass(frozen=True, slots=True)
class Takeover:
    """One that was measured."""

    segment: str
    origin: str
    target: str
    took_ms: float


@dataclass(frozen=True, slots=True)
class PauseModel:
    """`predict` before a move, `learn` after it."""

    params: PauseParams = PauseParams()
    seen: tuple[Takeover, ...] = ()

    def predict(self, segment: str | None, origin: str | None, target: str | None, *, unread_changes: int) -> float:
        """Milliseconds, for a target that has so many changes still to read. None: whichever."""
        return self._takeover_ms(segment, origin, target) + self._restore_ms(unread_changes)

    def learn(self, actual_ms: float, segment: str, origin: str, target: str, *, unread_changes: int) -> "PauseModel":
        """The model after one more measured pause."""
        took = Takeover(segment, origin, target, max(1.0, actual_ms - self._restore_ms(unread_changes)))
        return replace(self, seen=(*self.seen, took)[-self.params.remembered :])

    def _takeover_ms(self, segment: str | None, origin: str | None, target: str | None) -> float:
        ways = [each for each in self.seen if (each.origin, each.target) == (origin, target)]
        same = [each for each in self.seen if each.segment == segment]
        alike = [each for each in self.seen if each.origin == origin or each.target == target]
        for circle in ([each for each in ways if each.segment == segment], ways, same, alike):
            if len(circle) >= self.params.enough:
                return self._median_ms(circle)
        return self._median_ms(self.seen) if self.seen else self.params.takeover_ms

    def _median_ms(self, circle: Sequence[Takeover]) -> float:
        return median(each.took_ms for each in circle[-self.params.newest :])

    def _restore_ms(self, unread_changes: int) -> float:
        return 1_000 * unread_changes / self.params.restore_per_s
