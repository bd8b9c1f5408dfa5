"""How long nobody will work on a partition while it moves: predicted before, learned from what was measured after.

    pause = takeover + changes the standby has not yet read / rate of restoring + records waiting / rate of draining

The takeover is what no size explains: telling the origin, its commit, fencing, the first fetch. It is learned as an
exponentially weighted mean over the last moves, so it follows the machine that it runs on.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PauseParams:
    """What is assumed before anything was measured, and how quickly measurements replace it."""

    takeover_ms: float = 80.0
    restore_per_s: float = 200_000.0
    drain_per_s: float = 100_000.0
    weight: float = 0.3

    def __post_init__(self) -> None:
        assert self.takeover_ms > 0, self
        assert self.restore_per_s > 0, self
        assert self.drain_per_s > 0, self
        assert 0 < self.weight <= 1, self


@dataclass(frozen=True, slots=True)
class PauseModel:
    """`predict` before a move, `learn` after it."""

    params: PauseParams = PauseParams()
    takeover_ms: float | None = None

    def predict(self, *, unread_changes: int, waiting_records: int) -> float:
        """Milliseconds, for a target that has so many changes still to read and an origin with so many records."""
        takeover_ms = self.takeover_ms if self.takeover_ms is not None else self.params.takeover_ms
        return takeover_ms + self._by_size(unread_changes, waiting_records)

    def learn(self, actual_ms: float, *, unread_changes: int, waiting_records: int) -> "PauseModel":
        """The model after one more measured pause. The first measurement replaces what was assumed."""
        seen_ms = max(1.0, actual_ms - self._by_size(unread_changes, waiting_records))
        if self.takeover_ms is None:
            return replace(self, takeover_ms=seen_ms)
        weight = self.params.weight
        return replace(self, takeover_ms=(1 - weight) * self.takeover_ms + weight * seen_ms)

    def _by_size(self, unread_changes: int, waiting_records: int) -> float:
        return 1_000 * (unread_changes / self.params.restore_per_s + waiting_records / self.params.drain_per_s)
