"""Forecasts: what many series will be, some steps ahead, and how far to trust that. Pure numpy, all series at once.

forecaster = Forecaster(len(series), ForecastParams(horizons=(1, 10)))
for values in steps:
    forecaster.step(values)
    ahead = forecaster.forecast()   # ahead.values[series, horizon], ahead.errors[series, horizon]
"""

from placement.forecast.experts import EXPERTS, NAIVE
from placement.forecast.mixture import Forecast, Forecaster
from placement.forecast.params import ForecastParams

__all__ = ["EXPERTS", "NAIVE", "Forecast", "ForecastParams", "Forecaster"]
