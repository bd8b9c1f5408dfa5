"""The matrix: every phase of a move, every party to it, every way to hurt it; and what a seed makes of such a cell."""

import random
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tests.chaos.feed import pieces
from tests.chaos.flows import CASES, Case
from tests.chaos.scenario import Scenario

PHASES = (
    "proposing",  # the active instance is about to commit the first word of the move
    "warming",  # the target is to follow, and has not begun
    "handing_over",  # the active instance is about to commit the epoch that is the target's
    "draining",  # the origin has read it, and works on
    "committing",  # the origin is about to commit its last transaction
    "fencing",  # the target is about to fence the origin
    "catching_up",  # the target has fenced the origin, and is about to read the last changes
    "activating",  # the target has read them, and is about to run
    "releasing",  # the active instance is about to commit that the move is done
    "returning",  # the target could not run it; the origin, owner again, is about to fence the target
)
VICTIMS = ("origin", "target", "leader", "active", "broker", "redis")
HURTS = ("kill", "freeze", "cut")

HOSTS = ("h1", "h2", "h3")
"""The flow's leader on one, and a move between the other two."""
INSTANCES = ("p1", "p2")
FEED_S = 7.0
PARTITIONS = 2
LASTS_S = ((0.3, 1.5), (6.0, 8.0))
"""Freezes and cuts are over before the victim is taken for lost, or last until it has been replaced."""


@dataclass(frozen=True)
class Cell:
    """One cell, with the seed that says the rest."""

    phase: str
    victim: str
    hurt: str
    seed: int

    def __str__(self) -> str:
        return f"{self.hurt} {self.victim} while {self.phase}"

    @property
    def recipe(self) -> str:
        return f"--phase {self.phase} --victim {self.victim} --hurt {self.hurt} --seed {self.seed}"

    def rng(self, purpose: str) -> random.Random:
        """Chance for one purpose; the same for the same cell."""
        return random.Random(f"{self.seed}/{self.phase}/{self.victim}/{self.hurt}/{purpose}")

    @property
    def lasts_s(self) -> float:
        """How long a freeze or a cut lasts."""
        rng = self.rng("lasts")
        return rng.uniform(*rng.choice(LASTS_S))

    @property
    def case(self) -> Case:
        return CASES[self._number % len(CASES)]

    @property
    def delivery(self) -> str:
        return ("exactly_once", "at_least_once")[self._number // 2 % 2]

    @property
    def _number(self) -> int:
        """In turn rather than by chance: the cells of each column, and of each row, have every flow."""
        return PHASES.index(self.phase) + 2 * VICTIMS.index(self.victim) + 4 * HURTS.index(self.hurt) + self.seed

    @cached_property
    def scenario(self) -> Scenario:
        """The flow and its records; the faults are the cell's own."""
        rng = self.rng("scenario")
        fed = pieces(
            rng.randrange(2**32),
            self.case.sources,
            partitions=PARTITIONS,
            records=rng.randrange(900, 1_500),
            lasts_s=FEED_S,
            poison_at_s=[rng.uniform(0, FEED_S)],
        )
        state = rng.choice(("memory", "disk"))
        return Scenario(self.seed, self.case, self.delivery, PARTITIONS, HOSTS, False, state, (), tuple(fed))


def cells(seed: int) -> list[Cell]:
    """The whole matrix, in an order in which every part of it looks like the whole."""
    every = [Cell(*each, seed) for each in product(PHASES, VICTIMS, HURTS)]
    return random.Random(f"order/{seed}").sample(every, k=len(every))
