"""What slack is made from: what was measured lately where each operator runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits import Moments, fit_service
from placement.fits.arrays import Flags, divide
from services.modelling.flow_ends import FlowEnds
from services.modelling.operators import Operators
from services.modelling.ring import Array
from services.modelling.windows import Window, held, mean_of_seen, seen_in

_SUMS = (
    "rows",
    "pending",
    "came",
    "served",
    "service_us",
    "service_us_sq",
    "gaps",
    "gaps_sq",
    "lag",
    "timed",
    "latency_ms",
)


@dataclass(frozen=True, slots=True)
class Seats:
    """One row for each host, flow, segment and operator."""

    parts: Sequence[tuple[str, ...]]
    is_first: Flags
    """Which of them read what comes to their tasks."""
    per_s: Array
    service_us: Array
    cs2: Array
    ca2: Array
    lag: Array
    latency_ms: Array
    """From the source to here, on average; NaN where no record was timed."""
    by_second_ms: Array
    """The same of each second, up to the last one."""
    timed: Array
    """How many were."""

    @classmethod
    def of(cls, operators: Operators, ends: FlowEnds, window: Window, recent_s: int) -> "Seats":
        """Of those who are there now."""
        here = operators.staying(window["rows"][:, -recent_s:].sum(axis=1) > 0)
        sums = {name: window[name][here, -recent_s:] for name in _SUMS}
        added = {name: values.sum(axis=1) for name, values in sums.items()}
        by_second_ms = divide(sums["latency_ms"], sums["timed"])
        service = fit_service(Moments(sums["served"], sums["service_us"], sums["service_us_sq"]))
        return cls(
            [operators.parts[seat] for seat in here.tolist()],
            ends.is_first[here],
            mean_of_seen(sums["came"], seen_in(sums["rows"], sums["pending"])),
            divide(added["service_us"], added["served"]),
            np.nan_to_num(service.cs2, nan=1.0),
            divide(added["gaps_sq"], added["gaps"]) - 1.0,
            held(sums["lag"], sums["pending"])[:, -1],
            divide(added["latency_ms"], added["timed"]),
            by_second_ms,
            added["timed"],
        )
