"""What slack is made from: what was measured lately where each operator runs.

Where nothing gets done any more, what is known of the time before stands: what a record takes, as long as the window
remembers it. How long the records wait that nobody begins with, no result tells; but that nothing was begun since a
second at whose end some waited, does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits import Moments, fit_service
from placement.fits.arrays import Flags, divide
from services.modelling.flow_ends import FlowEnds
from services.modelling.operators import Operators
from services.modelling.ring import Array, Indices
from services.modelling.windows import Window, held, lasting_s, mean_of_seen, seen_in

_SUMS = ("rows", "pending", "came", "gaps", "gaps_sq", "lag", "timed", "latency_ms")
_SERVICE = ("served", "service_us", "service_us_sq")


@dataclass(frozen=True, slots=True)
class Seats:
    """One row for each host, flow, segment and operator."""

    parts: Sequence[tuple[str, ...]]
    is_first: Flags
    """Which of them read what comes to their tasks."""
    at_sinks: Flags
    """Which of them are in a segment that writes to a sink."""
    per_s: Array
    served: Array
    """Records, in the time in which they took `service_us` each."""
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
    open_s: Array
    """For so many seconds, up to the last one, something has waited here, or may have: not all has been told."""
    stalled_ms: Array
    """At the end of each of these seconds: what was not begun had waited here for at least so long."""

    @classmethod
    def of(cls, operators: Operators, ends: FlowEnds, window: Window, recent_s: int) -> "Seats":
        """Of those who are there now."""
        here = operators.staying(window["rows"][:, -recent_s:].sum(axis=1) > 0)
        sums = {name: window[name][here, -recent_s:] for name in _SUMS}
        added = {name: values.sum(axis=1) for name, values in sums.items()}
        served, service_us, service_us_sq = _service(operators, ends, window, recent_s, here)
        service = fit_service(Moments(served, service_us, service_us_sq))
        return cls(
            [operators.parts[seat] for seat in here.tolist()],
            ends.is_first[here],
            ends.at_sinks[here],
            mean_of_seen(sums["came"], seen_in(sums["rows"], sums["pending"])),
            served[:, 0],
            divide(service_us, served)[:, 0],
            np.nan_to_num(service.cs2, nan=1.0),
            divide(added["gaps_sq"], added["gaps"]) - 1.0,
            held(sums["lag"], sums["pending"])[:, -1],
            divide(added["latency_ms"], added["timed"]),
            divide(sums["latency_ms"], sums["timed"]),
            added["timed"],
            lasting_s((sums["lag"] > 0) | (sums["pending"] > 0))[:, -1],
            _stalled_ms(window, recent_s, here),
        )


def _service(operators: Operators, ends: FlowEnds, window: Window, recent_s: int, here: Indices) -> tuple[Array, ...]:
    """Sums of the last seconds, in one column; where no record entered a task in them, of all that are remembered."""
    entered = np.where(ends.is_first, window["served"][:, -recent_s:].sum(axis=1), 0.0)
    rests = operators.task_most(entered)[here] == 0
    found = []
    for name in _SERVICE:
        sums = window[name][here, -recent_s:].sum(axis=1)
        sums[rests] = window[name][here[rests]].sum(axis=1)
        found.append(sums[:, None])
    return tuple(found)


def _stalled_ms(window: Window, recent_s: int, here: Indices) -> Array:
    """By the seconds on end in which nothing was begun, nor done, and after each of which something waited."""

    def stuck(seats: Indices, columns: slice) -> Flags:
        lag, begun, done = (window[name][seats, columns] for name in ("lag", "waited", "served"))
        return np.asarray((lag > 0) & (begun == 0) & (done == 0))

    lately = slice(-recent_s, None)
    found = np.zeros((len(here), recent_s))
    some = np.flatnonzero(stuck(here, lately).any(axis=1))
    # What waits after the first of them came at its end at the latest.
    waited_ms = np.maximum(lasting_s(stuck(here[some], slice(None))) - 1.0, 0.0) * 1e3
    found[some] = held(waited_ms, window["pending"][here[some]])[:, lately]
    return found
