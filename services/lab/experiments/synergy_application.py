"""The application of Synergy's chapter 3, tuple by tuple: five components in a row, each on a host of its own.

The paper replays a TCP trace of 1994 that we do not have; ours is the real requests of `AzureLLMInferenceTrace_conv`,
ten times as fast, so that hosts have something to do. As in the paper, every host also serves other applications of
the same kind: copies of the trace that began earlier. Service times are ours, such that hosts are busy and not
overloaded on average (0.6 in all); the paper tells none. Queues are real ones (Lindley), and what leaves a component
arrives at the next.
"""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array
from placement.queueing.real_queue import draw, lindley
from services.lab.data import data_file
from services.lab.series import event_times_s

COMPONENTS = ("project", "sort", "aggregate", "count", "compare")
"""In the order of the graph."""
_KEPT = {"project": 1.0, "sort": 1.0, "aggregate": 0.5, "count": 1.0, "compare": 1.0}
"""Tuples out for one in."""
SPEED = 10.0
OWN_LOAD = 0.25
"""Mean utilisation of a host by the component."""
OTHERS_LOAD = 0.35
"""Mean utilisation of a host by other applications."""


@dataclass(frozen=True, slots=True)
class Component:
    """Of each tuple: when it came, how long it took in all; and per second what the host did."""

    name: str
    arrivals_s: Array
    times_ms: Array
    total_rates: Array
    """Tuples of all applications that came to the host, second by second."""
    mean_times_ms: Array
    """Of this application, second by second; NaN in a second without any."""


def run_application(seed: int) -> list[Component]:
    """All components, upstream first."""
    rng = np.random.default_rng(seed)
    trace = arrivals_s = event_times_s(data_file("traces", "AzureLLMInferenceTrace_conv.csv.gz"), column=0) / SPEED
    found = []
    for name in COMPONENTS:
        component, left_s = _serve(name, arrivals_s, _shifted(trace, rng), rng)
        found.append(component)
        arrivals_s = np.sort(left_s[rng.random(len(left_s)) < _KEPT[name]])
    return found


def _shifted(trace_s: Array, rng: np.random.Generator) -> Array:
    """The trace as if it had begun at another moment, and goes round."""
    return np.sort((trace_s + rng.uniform(0.1, 0.9) * trace_s[-1]) % trace_s[-1])


def _serve(name: str, mine_s: Array, others_s: Array, rng: np.random.Generator) -> tuple[Component, Array]:
    """One host, first come first served."""
    span_s = mine_s[-1] - mine_s[0]
    others_s = others_s[others_s <= mine_s[-1]]
    service_ms = np.concatenate(
        [
            draw(OWN_LOAD * span_s * 1e3 / len(mine_s), 0.3, len(mine_s), rng),
            draw(OTHERS_LOAD * span_s * 1e3 / len(others_s), 0.3, len(others_s), rng),
        ]
    )
    came_s = np.concatenate([mine_s, others_s])
    order = came_s.argsort(kind="stable")
    times_ms = np.empty(len(came_s))
    times_ms[order] = lindley(came_s[order] * 1e3, service_ms[order]) + service_ms[order]
    times_ms = times_ms[: len(mine_s)]
    seconds = int(mine_s[-1]) + 1
    second = mine_s.astype(int)
    mine = np.bincount(second, minlength=seconds).astype(float)
    spent = np.bincount(second, times_ms, minlength=seconds)
    total = mine + np.bincount(others_s.astype(int), minlength=seconds)[:seconds].astype(float)
    mean = np.divide(spent, mine, out=np.full(seconds, np.nan), where=mine > 0)
    return Component(name, mine_s, times_ms, np.asarray(total, dtype=np.float64), mean), mine_s + times_ms / 1e3
