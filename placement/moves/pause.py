"""How long nobody will work on a partition while it moves: predicted before, learned from what was measured after.

    pause = takeover + changes the standby has not yet read / rate of restoring

The takeover is what no size explains: telling the origin, the batch it is at, its commit, fencing, the first fetch. It
depends on the two hosts, how fast they are and how far from their brokers; so the median of the last moves between the
same two counts, else of those that had one of them in common, else of all. A median, because the pause of a busy
moment says nothing about the next one.
"""

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

    origin: str
    target: str
    took_ms: float


@dataclass(frozen=True, slots=True)
class PauseModel:
    """`predict` before a move, `learn` after it."""

    params: PauseParams = PauseParams()
    seen: tuple[Takeover, ...] = ()

    def predict(self, origin: str | None, target: str | None, *, unread_changes: int) -> float:
        """Milliseconds, for a target that has so many changes still to read. None: whichever hosts."""
        return self._takeover_ms(origin, target) + self._restore_ms(unread_changes)

    def learn(self, actual_ms: float, origin: str, target: str, *, unread_changes: int) -> "PauseModel":
        """The model after one more measured pause."""
        took = Takeover(origin, target, max(1.0, actual_ms - self._restore_ms(unread_changes)))
        return replace(self, seen=(*self.seen, took)[-self.params.remembered :])

    def _takeover_ms(self, origin: str | None, target: str | None) -> float:
        same = [each.took_ms for each in self.seen if (each.origin, each.target) == (origin, target)]
        alike = [each.took_ms for each in self.seen if each.origin == origin or each.target == target]
        everything = [each.took_ms for each in self.seen]
        for circle in (same, alike):
            if len(circle) >= self.params.enough:
                return median(circle[-self.params.newest :])
        return median(everything[-self.params.newest :]) if everything else self.params.takeover_ms

    def _restore_ms(self, unread_changes: int) -> float:
        return 1_000 * unread_changes / self.params.restore_per_s
