"""How long messages travel between hosts, and how many are lost."""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Moments, divide


@dataclass(frozen=True, slots=True)
class Delays:
    """One way, one value a link; NaN: no answer came."""

    mean: Array
    error: Array
    variance: Array
    fastest: Array
    loss: Array
    """Share of the probes that had no answer."""
    answers: Array


def fit_delays(round_trips: Moments, fastest: Array, sent: Array, lost: Array) -> Delays:
    """Delays of a window from the round trips of probes; `fastest`: of each second, whatever where none came back."""
    window = round_trips.over_window()
    quickest = np.where(round_trips.count > 0, fastest, np.inf).min(axis=-1, initial=np.inf)
    # Both ways take half. Their variances add up, so one way has half of it, not a quarter.
    variance = window.variance / 2
    return Delays(
        window.mean / 2,
        np.sqrt(divide(window.variance / 4, window.count)),
        variance,
        np.where(np.isfinite(quickest), quickest / 2, np.nan),
        divide(lost.sum(axis=-1), sent.sum(axis=-1)),
        window.count,
    )
