"""Excess: what a flow takes beyond the model's word for it, learnt where it runs. Pure.

The model knows distances, queues and what any hop costs. It does not know what records wait for besides: the first one
of each transaction on a partition for coordinators that may stand anywhere, a processor that is busy. All that is in
the latency that hosts measure. What is told of a flow is the model's word plus the median of what was measured beyond
it, so that it is what a reader sees of half of the results.

It is added, not multiplied: these waits come with every hop, however long its way is, and a flow has as many hops
wherever it runs. So a flow that moves takes its excess along as a first guess, and what is measured at the new place
replaces it. Nothing is decided by it: it would be on both sides of every comparison (decision 262).
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class ExcessParams:
    """How fast a leader learns, and how much it believes."""

    seconds: int = 30
    """So many of the last seconds in which something was measured count, however far apart they are."""
    settle_s: int = 5
    """What is measured so soon after a move still tells of its pause."""
    doubt: float = 5.0
    """The first guess is worth so many samples."""
    carried_seconds_min: int = 10
    """From fewer seconds than these nothing is carried to another place: a flow that has just begun catches up."""
    excess_ms_max: float = 2_000.0
    """More than this is no wait on the way but a backlog, which passes."""

    def __post_init__(self) -> None:
        if not 1 <= self.carried_seconds_min <= self.seconds or self.settle_s < 0:
            raise ValueError(f"{self}: give at least 1 second, no more to carry than are kept, and 0 or more to settle")
        if not (self.doubt > 0 and self.excess_ms_max > 0):
            raise ValueError(f"{self}: give a doubt and a bound above 0")


@dataclass(frozen=True, slots=True)
class Excess:
    """Beyond the model's word: so much, from so many samples of the present place, half of them within the spread."""

    ms: float = 0.0
    samples: int = 0
    spread_ms: float = 0.0


class RunningLatency:
    """What was measured of one flow where it runs now."""

    def __init__(self, params: ExcessParams | None = None) -> None:
        self._params = params or ExcessParams()
        self._seconds: dict[int, dict[Hashable, tuple[float, ...]]] = {}
        self._from_second = 0
        self._first_guess_ms = 0.0

    def measured(self, second: int, what: Hashable, latencies_ms: Sequence[float]) -> None:
        """Samples of one second. `what` tells them from others of that second: to be told them twice changes
        nothing."""
        if second < self._from_second or not latencies_ms:
            return
        self._seconds.setdefault(second, {})[what] = tuple(latencies_ms)
        while len(self._seconds) > self._params.seconds:
            del self._seconds[min(self._seconds)]

    def moved(self, second: int, modelled_ms: float) -> None:
        """In this second the flow did not run, or not yet, where it is meant to. `modelled_ms`: where it ran before."""
        if len(self._seconds) >= self._params.carried_seconds_min and math.isfinite(modelled_ms):
            self._first_guess_ms = self.beyond(modelled_ms).ms
        self._seconds.clear()
        self._from_second = max(self._from_second, second + self._params.settle_s + 1)

    def beyond(self, modelled_ms: float) -> Excess:
        """What the flow takes beyond what the model says of its way up to where latency is measured."""
        samples_ms = [each for parts in self._seconds.values() for part in parts.values() for each in part]
        count = len(samples_ms)
        excess_ms, spread_ms = self._first_guess_ms, 0.0
        if count:
            share = count / (count + self._params.doubt)
            excess_ms = share * (median(samples_ms) - modelled_ms) + (1 - share) * self._first_guess_ms
        if count > 1:
            low, _, high = quantiles(samples_ms, n=4)
            spread_ms = high - low
        # No way takes less than nothing.
        return Excess(min(max(excess_ms, -modelled_ms), self._params.excess_ms_max), count, spread_ms)
