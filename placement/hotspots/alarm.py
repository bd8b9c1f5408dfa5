"""From which chance on a warning is given: a level that its own verdicts set.

Each warning that was false raises it, each that came true lowers it, in such a proportion that it rests where the
wanted share comes true, however good or bad the chances themselves are (adaptive conformal inference: Gibbs and Candes,
2021).
So a warning is given as early as that share allows.
"""

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

    def __post_init__(self) -> None:
        require(
            0 < self.lowest <= self.precision <= self.highest < 1,
            f"precision is {self.precision}; give a share from {self.lowest} to {self.highest}",
        )
        require(0 <= self.pace < 1, f"pace is {self.pace}; give 0 to 1")


class Alarm:
    """`level`: the chance from which on to warn; `learn` after each step of the verdicts on this alarm's warnings."""

    def __init__(self, params: AlarmParams) -> None:
        self.params = params
        self.level = params.precision
        self._known = (0.0, 0.0)

    def learn(self, verdicts: Verdicts) -> None:
        """From what has been judged since the last time."""
        hits, false = float(verdicts.hits[0]), float(verdicts.false[0])
        came_true, did_not = hits - self._known[0], false - self._known[1]
        self._known = (hits, false)
        params = self.params
        moved = self.level + params.pace * (did_not * params.precision - came_true * (1 - params.precision))
        self.level = min(max(moved, params.lowest), params.highest)
