"""A plan: a placement approved for one flow, with the moves that lead to it. Carried out exactly as approved or not
at all.

The hash covers everything that a host would act on, so what a user approved and what runs can be compared by one word.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from placement.model.errors import require
from placement.model.placement import Placement, Tap


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One task from one host to another; no origin for a task that starts, no target for one that stops."""

    flow: str
    task: str
    origin: str | None
    target: str | None

    def __post_init__(self) -> None:
        require(self.origin != self.target, f"{self.flow}/{self.task}: a move needs two different hosts")


@dataclass(frozen=True)
class Plan:
    """The placement of one flow at one epoch. A host obeys the newest epoch it has seen and no other."""

    flow: str
    epoch: int
    placement: Placement
    moves: tuple[Move, ...]

    def __post_init__(self) -> None:
        require(self.epoch >= 0, f"plan of {self.flow}: epoch is {self.epoch}; epochs count up from 0")
        strangers = [name for name in self.placement.flows if name != self.flow]
        require(not strangers, f"plan of {self.flow}: it also places {', '.join(strangers)}; make one plan a flow")

    @classmethod
    def between(cls, flow: str, epoch: int, old: Placement, new: Placement) -> "Plan":
        """The plan that leads a flow from its old placement (empty at first) to its new one."""
        before, after = old.of_flow(flow), new.of_flow(flow)
        moves = []
        for key in sorted(before.hosts.keys() | after.hosts.keys()):
            origin, target = before.hosts.get(key), after.hosts.get(key)
            if origin != target:
                moves.append(Move(flow, key[1], origin, target))
        return cls(flow, epoch, after, tuple(moves))

    @cached_property
    def hash(self) -> str:
        """Sixteen hex digits over flow, epoch, spots, taps and moves."""
        content = [
            self.flow,
            self.epoch,
            self.placement.spots,
            [_words(tap) for tap in self.placement.taps],
            [(move.flow, move.task, move.origin, move.target) for move in self.moves],
        ]
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _words(tap: Tap) -> tuple[str, str, str, str]:
    return (tap.flow, tap.task, tap.to_flow, tap.to_task)
