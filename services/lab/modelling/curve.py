"""The curve of the modelling service: which load it holds on how much processor, one point after the other.

Each point has a broker, a Redis and a Spark of its own. Where a load is too much, that is a result too.
"""

from dataclasses import replace

from services.lab.dataplane.ground import Say
from services.lab.modelling.measures import Params, measure
from services.lab.results import Row
from services.settings import Settings

LOADS = ((2_000, 2_000), (20_000, 2_000), (20_000, 20_000))
"""Rows a second, and of how many operators: ten times the rows, then ten times the operators."""
CORES = (1, 2)


def points(params: Params) -> list[Params]:
    """What is measured; on a cluster, whose cores are its own, once for each load."""
    cores = CORES if params.master is None else (params.cores,)
    return [
        replace(params, rows=rows, operators=operators, cores=each, restarts=0)
        for each in cores
        for rows, operators in LOADS
    ]


def measure_curve(params: Params, settings: Settings, *, say: Say, warn: Say) -> list[Row]:
    """All points."""
    found: list[Row] = []
    for point in points(params):
        try:
            found += measure(
                point,
                settings,
                say=lambda text, name=point.name: say(f"{name}: {text}"),  # type: ignore[misc]
                warn=lambda text, name=point.name: warn(f"{name}: {text}"),  # type: ignore[misc]
            )
        except Exception as fault:  # noqa: BLE001 - whatever it is, an hour of other points must not go with it
            warn(f"{point.name}: {fault!r}")
            found.append(Row.of(f"share of rows not modelled in time: {point.name}", [1.0], "share"))
    return found
