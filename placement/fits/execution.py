"""Execution time against the total rate of a host, by linear regression (Synergy 3.3.2, eqs 3.2 to 3.5).

Departure from the paper: its least squares weigh a miss of a millisecond alike at 1 ms and at 100 ms. Times vary in
proportion to their size, so each pair is weighed by the inverse square of what the paper's line says there, and the
line is judged by relative misses; a stalled second does not bend it. The error of a prediction is the size that 68 %
of the misses stayed within, each told by a line that did not know it: queues are no normal distribution, and a formula
for one promises too much (decision 0160). The times that the service fits are of work alone, without the paper's
queueing (decision 0279).
"""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Flags

PAIRS_MIN = 5
"""Two fix a line; fewer than these say nothing of its error."""
INSIDE = 0.6827
"""Share of misses within one standard error."""
_FLOOR = 0.05
"""A line may pass through 0 between its pairs; no time counts as smaller than this share of the mean."""
_WILD = 2.0
"""A miss of more than this many usual ones pulls at the line no more than one of this size (Huber)."""
_OUTSIDE = 0.999
"""Leverage: a pair that alone fixes the line."""
_TINY = 1e-100


@dataclass(frozen=True, slots=True)
class Execution:
    """One line a row: time = intercept + slope * total rate. NaN: too few pairs."""

    slope: Array
    intercept: Array
    slope_error: Array
    """Standard error of the slope (eq 3.5); infinite where the rate never changed."""
    miss: Array
    """Relative size that 68 % of predictions miss by less than, within the rates seen."""
    mean_rate: Array
    mean_time: Array
    pairs: Array

    def predict(self, total_rates: Array) -> tuple[Array, Array]:
        """Times at these rates, and their standard errors, which grow outside the rates seen."""
        floor = _FLOOR * self.mean_time
        times = np.maximum(self.intercept + self.slope * total_rates, floor)
        near = self.miss * times
        off = np.abs(total_rates - self.mean_rate)
        # A slope of unknown error (the rate never changed) tells its own rate and nothing else.
        far = np.where(off > 0, off * np.where(off > 0, self.slope_error, 0.0), 0.0)
        return times, np.hypot(near, far)


def fit_execution(total_rates: Array, times: Array) -> Execution:
    """Lines through pairs of (rate, time), NaN for none: both arrays are (rows, seconds)."""
    known = np.isfinite(total_rates) & np.isfinite(times)
    pairs = known.sum(axis=-1).astype(float)
    enough = pairs >= PAIRS_MIN
    rates, values = np.where(known, total_rates, 0.0), np.where(known, times, 0.0)
    mean = values.sum(axis=-1) / np.maximum(pairs, 1.0)
    floor = np.maximum(_FLOOR * mean, _TINY)[..., None]
    plain = _Line.through(rates, values, known.astype(float))
    weights = np.where(known, (plain.mean_time[..., None] / np.maximum(plain.at(rates), floor)) ** 2, 0.0)
    first = _Line.through(rates, values, weights)
    wild = _over(np.abs(values - first.at(rates)), _WILD * first.misses(rates, values, known, floor)[..., None])
    line = _Line.through(rates, values, weights / np.maximum(wild / np.maximum(first.at(rates), floor), 1.0))
    told = (line.slope, line.intercept, line.slope_error(rates, values, pairs), line.mean_rate, mean)
    slope, intercept, slope_error, mean_rate, mean = (np.where(enough, each, np.nan) for each in told)
    miss = np.where(enough, line.misses(rates, values, known, floor), np.nan)
    return Execution(slope, intercept, slope_error, miss, mean_rate, mean, pairs)


@dataclass(frozen=True, slots=True)
class _Line:
    """Weighted least-squares lines; slope 0 where all rates are equal."""

    weights: Array
    slope: Array
    mean_rate: Array
    mean_time: Array
    square: Array
    """Weighted sum of squared distances from the mean rate."""

    @classmethod
    def through(cls, rates: Array, values: Array, weights: Array) -> "_Line":
        total = np.maximum(weights.sum(axis=-1), _TINY)
        mean_rate, mean_time = (weights * rates).sum(axis=-1) / total, (weights * values).sum(axis=-1) / total
        off = rates - mean_rate[..., None]
        square = (weights * off**2).sum(axis=-1)
        # What rounding leaves of equal rates is no spread.
        square = np.where(square > 1e-18 * total * mean_rate**2, square, 0.0)
        slope = _over((weights * off * (values - mean_time[..., None])).sum(axis=-1), square)
        return cls(weights, slope, mean_rate, mean_time, square)

    @property
    def intercept(self) -> Array:
        return np.asarray(self.mean_time - self.slope * self.mean_rate)

    def at(self, rates: Array) -> Array:
        return np.asarray(self.intercept[..., None] + self.slope[..., None] * rates)

    def misses(self, rates: Array, values: Array, known: Flags, floor: Array) -> Array:
        """Relative size that 68 % of the pairs are missed by less than, by a line that did not know them."""
        # A pair's own pull on the line, its leverage, is taken out.
        total = np.maximum(self.weights.sum(axis=-1), _TINY)[..., None]
        pull = self.weights * (1.0 / total + _over((rates - self.mean_rate[..., None]) ** 2, self.square[..., None]))
        missed = np.abs(values - self.at(rates)) / (1.0 - np.minimum(pull, _OUTSIDE))
        relative = np.where(known, missed / np.maximum(self.at(rates), floor), np.inf)
        count = known.sum(axis=-1)
        place = np.clip(np.ceil(INSIDE * (count + 1)) - 1, 0, np.maximum(count - 1, 0)).astype(np.int64)
        return np.asarray(np.take_along_axis(np.sort(relative, axis=-1), place[..., None], axis=-1)[..., 0])

    def slope_error(self, rates: Array, values: Array, pairs: Array) -> Array:
        """Eq 3.5, weighted; infinite where the rate never changed."""
        residual = (self.weights * (values - self.at(rates)) ** 2).sum(axis=-1) / np.maximum(pairs - 2.0, 1.0)
        return np.where(self.square > 0, np.sqrt(_over(residual, self.square)), np.inf)


def _over(above: Array, below: Array) -> Array:
    shape = np.broadcast(above, below).shape
    return np.divide(above, below, out=np.zeros(shape), where=np.broadcast_to(below, shape) > 0)
