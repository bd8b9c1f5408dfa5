"""A move and what it asks of the registry."""

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """Where a move is. The first six lead to the target, `returning` back to the origin; the others are ends."""

    PROPOSED = "proposed"
    WARMING = "warming"
    DRAINING = "draining"
    FENCING = "fencing"
    CATCHING_UP = "catching_up"
    RELEASING = "releasing"
    RETURNING = "returning"
    DONE = "done"
    ROLLED_BACK = "rolled_back"
    ABANDONED = "abandoned"


ENDED = frozenset({Phase.DONE, Phase.ROLLED_BACK, Phase.ABANDONED})
"""Nothing more comes of a move in one of these."""


@dataclass(frozen=True, slots=True)
class Move:
    """One partition of one segment from `origin` to `target`.

    It began when the registry said `epoch`; the target owns the partition from `epoch` + 1 on, and if that fails the
    origin from `epoch` + 2 on. `paused_ms` is when the origin was told to stop, `actual_pause_ms` how long nobody
    worked.
    """

    id: str
    flow: str
    segment: str
    partition: int
    origin: str
    target: str
    epoch: int
    phase: Phase
    proposed_ms: int
    since_ms: int
    reason: str
    plan: str | None = None
    request: str | None = None
    predicted_pause_ms: float | None = None
    paused_ms: int | None = None
    actual_pause_ms: float | None = None
    trouble: str | None = None
    unread_changes: int | None = None
    """Of the partition's state, that the target had still to read when it was handed over."""
    followed: bool = False
    """Whether the target followed the partition before the move began, because a person wants it to."""

    def __post_init__(self) -> None:
        assert self.origin != self.target, self

    @property
    def slot(self) -> tuple[str, int]:
        return self.segment, self.partition

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED


# Effects. Each is one write of the partition's registry entry; the entry and the move change together or not at all.


@dataclass(frozen=True, slots=True)
class FollowAtTarget:
    """The target is to follow the partition (`True`) or no longer (`False`); its owner stays as it is."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class HandOver:
    """The target owns the partition from the next epoch on, and waits until the origin has drained and committed."""


@dataclass(frozen=True, slots=True)
class SkipDrain:
    """The origin is gone: the target need not wait for its word."""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The origin owns the partition again, from yet another epoch on."""


@dataclass(frozen=True, slots=True)
class Release:
    """The target runs it: nothing in the registry points to the origin any more."""


Effect = FollowAtTarget | HandOver | SkipDrain | GiveBack | Release
