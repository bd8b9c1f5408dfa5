"""Settings of the forecasts, checked by themselves."""

from dataclasses import dataclass

from placement.model.errors import require


@dataclass(frozen=True, slots=True)
class ForecastParams:
    """One step is one closed interval of the series, a second for live metrics."""

    horizons: tuple[int, ...] = (1, 10)
    """How many steps ahead; ascending."""
    memory: int = 6_144
    """Steps of history that are kept: a season must fit in twice and a half to be seen, as a week of five-minute steps
    does."""
    score_steps: int = 50
    """Errors older than about this many steps, and 15 for each step of the horizon, count little: the errors of long
    horizons overlap, so that there are fewer independent ones."""
    sharpness: float = 8.0
    """Weight of an expert is its mean error to the power of minus this: the best ones speak, the others whisper."""
    choice_sharpness: float = 32.0
    """The same for the choice between naive rules and mixtures."""
    record_steps: int = 10_000
    """Errors that choice is made by go back over the whole past of a series, but not further than about this."""
    settle_steps: int = 5
    """Forecasts that have to come due after a series has shifted to another level, before experts are trusted again."""
    regression_steps: tuple[int, int, int] = (1_000, 333, 100)
    """How many steps back each of the regressions remembers."""
    solve_every: int = 4
    """Regressions find their coefficients anew once in so many steps."""
    ridge: float = 1.0
    """Pull of regressions towards the last value, in steps' worth of evidence."""
    season_min: int = 6
    season_correlation: float = 0.3
    """Below this, what looks like a season is chance."""
    season_every: int = 128
    """A series looks for its season once in so many steps."""

    def __post_init__(self) -> None:
        require(
            bool(self.horizons) and list(self.horizons) == sorted(set(self.horizons)) and self.horizons[0] >= 1,
            f"horizons are {self.horizons}; give steps of 1 or more, ascending",
        )
        require(self.memory >= 64, f"memory is {self.memory} steps; give at least 64")
        require(
            self.horizons[-1] * 4 <= self.memory,
            f"the longest horizon is {self.horizons[-1]} steps; it can be a quarter of the memory, {self.memory} steps",
        )
        require(self.score_steps >= 10, f"score_steps is {self.score_steps}; give 10 or more")
        require(min(self.regression_steps) >= 20, f"regression_steps are {self.regression_steps}; give 20 or more each")
        require(self.solve_every >= 1, f"solve_every is {self.solve_every}; give 1 or more")
        require(self.sharpness > 0, f"sharpness is {self.sharpness}; it must be above 0")
        require(self.choice_sharpness > 0, f"choice_sharpness is {self.choice_sharpness}; it must be above 0")
        require(self.record_steps >= 10, f"record_steps is {self.record_steps}; give 10 or more")
        require(self.settle_steps >= 0, f"settle_steps is {self.settle_steps}; give 0 or more")
        require(self.ridge > 0, f"ridge is {self.ridge}; it must be above 0")
        require(self.season_min >= 2, f"season_min is {self.season_min}; give 2 or more")
        require(
            0 < self.season_correlation < 1,
            f"season_correlation is {self.season_correlation}; it must be between 0 and 1",
        )
        require(self.season_every >= 1, f"season_every is {self.season_every}; give 1 or more")

    def forget(self, horizon: int) -> float:
        """What a step keeps of the past in the errors that weigh the experts."""
        return 1.0 - 1.0 / (self.score_steps + 15 * horizon)
