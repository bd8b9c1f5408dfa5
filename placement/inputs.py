"""Where a number of the brain comes from: from a model that is there, fresh and sure; else from the last measurement.

The one rule for all inputs and both bodies. Synergy 3.3.2: where a prediction is not to be trusted, what was measured
last is reported instead.
"""

from dataclasses import dataclass
from typing import Literal

from placement.model.errors import require

Doubt = Literal["missing", "old", "unsure"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a model says; `error`: relative, None if it can't be told; `age_s`: since the last second it rests on.

    `lasts`: it tells what an operator is like (its service time, say), not what comes to it.
    """

    value: float
    error: float | None
    age_s: float
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class TrustParams:
    """What a model must be to be used."""

    age_s_max: float = 15.0
    lasting_age_s_max: float = 90.0
    """Of what lasts: as long as the modelling service may take to start again (60 s), and half as much."""
    ahead_s_max: float = 5.0
    """A model from further ahead is from before a clock was set back."""
    error_max: float = 0.5
    """Relative: beyond it, a guess from the last seconds is as good."""

    def __post_init__(self) -> None:
        require(self.age_s_max > 0, f"age_s_max is {self.age_s_max}; give more than 0")
        require(
            self.lasting_age_s_max >= self.age_s_max,
            f"lasting_age_s_max is {self.lasting_age_s_max}; give {self.age_s_max} or more, as for what does not last",
        )
        require(self.ahead_s_max >= 0, f"ahead_s_max is {self.ahead_s_max}; give 0 or more")
        require(self.error_max > 0, f"error_max is {self.error_max}; give more than 0")


def doubt(estimate: Estimate | None, params: TrustParams) -> Doubt | None:
    """Why not to use a model; None if it is to be used."""
    if estimate is None:
        return "missing"
    age_s_max = params.lasting_age_s_max if estimate.lasts else params.age_s_max
    if not -params.ahead_s_max <= estimate.age_s <= age_s_max:
        return "old"
    if estimate.error is None or not estimate.error <= params.error_max:
        return "unsure"
    return None
