"""From which chance on a warning is given: a level that its own verdicts set.

Each warning that was false raises it, each that came true lowers it, in such a proportion that it rests where the
wanted share comes true, however good or bad the chances themselves are (adaptive conformal inference: Gibbs and Candes,
2021).
So a warning is given as early as that share allows.

It takes many verdicts to get there. Until a few have come true, and whenever lately too many have not, what is foreseen
is judged but nobody is warned of it: leaders would move flows for nothing.
"""

from collections import deque
from dataclasses import dataclass

from placement.hotspots.verdicts import Verdicts
from placement.model.errors import require


@dataclass(frozen=True, slots=True)
class AlarmParams:
    """What warnings are to be like."""

    precision: float = 0.8
    """The share of them that should come true; the level begins here, as it should if chances are what they say."""
    pace: float = 0.05
    """How far a verdict moves the level."""
    lowest: float = 0.3
    highest: float = 0.97
    """A level of 1 would never again be tried out."""
    earned: int = 3
    """So many must have come true before anybody is warned,"""
    trusted: float = 0.7
    """and this share of those judged lately: somewhat less than is wanted, around which it goes up and down."""
    lately: int = 30
    """How many verdicts that is."""

    def __post_init__(self) -> None:
        require(
            0 < self.lowest <= self.precision <= self.highest < 1,
            f"precision is {self.precision}; give a share from {self.lowest} to {self.highest}",
        )
        require(0 <= self.pace < 1, f"pace is {self.pace}; give 0 to 1")
        require(
            0 <= self.trusted <= self.precision, f"trusted is {self.trusted}; give a share of at most {self.precision}"
        )
        require(
            0 <= self.earned <= self.lately, f"earned is {self.earned}; give 0 to {self.lately}, those judged lately"
        )


class Alarm:
    """`level`: the chance from which on a break is foreseen; `speaks`: whether to warn of it.

    `learn` after each step of the verdicts on what it foresees.
    """

    def __init__(self, params: AlarmParams) -> None:
        self.params = params
        self.level = params.precision
        self._known = (0.0, 0.0)
        self._lately: deque[bool] = deque(maxlen=params.lately)

    @property
    def speaks(self) -> bool:
        """Whether enough has come true lately."""
        hits = sum(self._lately)
        return hits >= self.params.earned and hits >= self.params.trusted * len(self._lately)

    def resume(self, hits: int, false: int) -> None:
        """Goes on from verdicts of before. Which were the last is not known: their share stands for it."""
        kept = min(hits + false, self.params.lately)
        came_true = round(kept * hits / max(hits + false, 1))
        before = [True] * came_true + [False] * (kept - came_true)
        self._lately = deque([*before, *self._lately], self.params.lately)

    def learn(self, verdicts: Verdicts) -> None:
        """From what has been judged since the last time."""
        hits, false = float(verdicts.hits[0]), float(verdicts.false[0])
        came_true, did_not = hits - self._known[0], false - self._known[1]
        self._known = (hits, false)
        self._lately += [True] * int(came_true) + [False] * int(did_not)
        params = self.params
        moved = self.level + params.pace * (did_not * params.precision - came_true * (1 - params.precision))
        self.level = min(max(moved, params.lowest), params.highest)
