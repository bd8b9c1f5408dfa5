"""A real queue, message by message, to hold the model against: one server, first come first served, several streams
merged.

Gaps and services are drawn from gamma distributions with the streams' means and squared variations (0 is constant,
1 exponential). Waits follow Lindley's recursion exactly: each message waits for what is left of those before it. No
formula of the model is used here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.queueing.load import Stream, load_of
from placement.queueing.wait import wait_ms

Array = NDArray[np.float64]

WARM_UP = 0.1
"""The first share of the messages is not measured: the queue starts empty."""

CASES: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "M/M/1": ((1.0, 1.0, 1.0, 1.0),),
    "M/D/1": ((1.0, 1.0, 0.0, 1.0),),
    "regular, D/M/1": ((1.0, 1.0, 1.0, 0.0),),
    "bursty, ca2 = 2": ((1.0, 1.0, 1.0, 2.0),),
    "bursty, ca2 = 4": ((1.0, 1.0, 1.0, 4.0),),
    "three alike, ca2 = 0.5": ((1.0, 1.0, 1.0, 0.5),) * 3,
    "five mixed": (
        (1.0, 1.0, 0.5, 0.5),
        (2.0, 0.5, 1.0, 1.0),
        (0.5, 3.0, 0.0, 2.0),
        (1.0, 2.0, 2.0, 1.5),
        (3.0, 0.3, 1.0, 0.7),
    ),
}
"""Name to (relative rate, relative work, cs2, ca2) of each stream."""

UTILISATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Model against reality for one case at one utilisation; times in units of the mean service time."""

    case: str
    rho: float
    model_wait: float
    real_wait: float

    @property
    def error(self) -> float:
        """Of the latency, wait plus service: what a placement is judged by."""
        return (self.model_wait + 1.0) / (self.real_wait + 1.0) - 1.0


def model_errors(rng: np.random.Generator, *, messages: int = 400_000) -> tuple[ErrorRow, ...]:
    """All cases at all utilisations: the report behind the evidence, and behind the tests' tolerances.

    `messages` is for an idle server; a busy one forgets more slowly and is watched for longer, 1/(1 - rho) times.
    """
    rows = []
    for case in CASES:
        for rho in UTILISATIONS:
            streams = case_streams(case, rho)
            service = rho / sum(stream.rate_per_ms for stream in streams)
            model = wait_ms(load_of(streams, 1.0), cap=1.0)
            real = simulated_wait_ms(streams, 1.0, round(messages / (1.0 - rho)), rng)
            rows.append(ErrorRow(case, rho, model / service, real / service))
    return tuple(rows)


def case_streams(case: str, rho: float) -> tuple[Stream, ...]:
    """The streams of a case, scaled to load a server of capacity 1 to `rho`."""
    total = sum(rate * work for rate, work, _, _ in CASES[case])
    return tuple(Stream(rho * rate / total, work, cs2, ca2, 1.0) for rate, work, cs2, ca2 in CASES[case])


def simulated_wait_ms(streams: Sequence[Stream], capacity: float, messages: int, rng: np.random.Generator) -> float:
    """Mean wait of about `messages` messages at one server."""
    horizon = messages / sum(stream.rate_per_ms for stream in streams)
    times, services = [], []
    for stream in streams:
        count = int(horizon * stream.rate_per_ms * 1.05) + 100
        arrivals = np.cumsum(draw(1.0 / stream.rate_per_ms, stream.ca2, count, rng))
        # A constant gap would lock streams in phase; a random start is what a long run sees on average.
        arrivals += rng.uniform(0.0, 1.0 / stream.rate_per_ms)
        arrivals = arrivals[arrivals <= horizon]
        times.append(arrivals)
        services.append(draw(stream.work / capacity, stream.cs2, len(arrivals), rng))
    order = np.argsort(np.concatenate(times), kind="stable")
    waits = lindley(np.concatenate(times)[order], np.concatenate(services)[order])
    return float(waits[int(len(waits) * WARM_UP) :].mean())


def draw(mean: float, squared_variation: float, count: int, rng: np.random.Generator) -> Array:
    """Positive times with that mean and squared coefficient of variation."""
    if squared_variation == 0.0:
        return np.full(count, mean)
    return rng.gamma(1.0 / squared_variation, mean * squared_variation, count)


def lindley(arrivals: Array, services: Array) -> Array:
    """The wait of each message: W[n + 1] = max(0, W[n] + S[n] - (A[n + 1] - A[n])), as one running minimum."""
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - np.diff(arrivals))])
    waits: Array = walk - np.minimum.accumulate(walk)
    return waits
