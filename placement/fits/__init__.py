"""Fits: from sums of a window to the numbers that the brain decides by. Pure numpy, every row of a window at once.

A window is an array (rows, seconds), the newest second last; a row is an operator, an operator's partition or a link.
Where nothing was measured in a second its sums are 0 and `seen` says so. A fit never warns and never raises on what was
measured: what can't be told is NaN, and its error says how far to trust the rest.

rates = fit_rates(came, done, outputs, gaps, seen)     # lambda, ca2, selectivity
service = fit_service(moments)                         # mean, cs2
execution = fit_execution(total_rates, times)          # a line: slope, intercept, errors, samples
delays = fit_delays(round_trips, fastest, sent, lost)  # mean, variance, minimum, loss
signatures = sign(counts, load_of_one)                 # segments of constant load (Synergy 2.3.4)
"""

from placement.fits.arrays import Array, Flags, Moments
from placement.fits.execution import Execution, fit_execution
from placement.fits.links import Delays, fit_delays
from placement.fits.rates import Rates, fit_rates, mean_error
from placement.fits.service import Service, fit_service
from placement.fits.signatures import Signatures, combine, impact, sign

__all__ = [
    "Array",
    "Delays",
    "Execution",
    "Flags",
    "Moments",
    "Rates",
    "Service",
    "Signatures",
    "combine",
    "fit_delays",
    "fit_execution",
    "fit_rates",
    "fit_service",
    "impact",
    "mean_error",
    "sign",
]
