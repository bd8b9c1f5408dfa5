"""What the leader of a flow predicts of its latency: the model's word, and what was learnt where the flow runs. Pure.

Hosts tell how long records took up to the end of the last segments, until results were on their way to the sinks and,
exactly once, committed. What lies behind that, from there to the sinks' readers, only the model knows.
"""

import math
from dataclasses import dataclass, field

from placement.excess import Excess, RunningLatency
from topics.flow.graph import FlowGraph
from topics.messages import OperatorMetrics

ROW_SAMPLES_MAX = 5
"""Of one second of one task: a busy one must not outvote the others by far."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A flow's latency: as the model sees it, the part of that behind the last segments, and what it takes beyond."""

    model_ms: float
    beyond_ms: float
    excess: Excess = field(default_factory=Excess)

    @property
    def latency_ms(self) -> float:
        """Up to the sinks' readers, of half of the results."""
        return self.model_ms + self.excess.ms

    def evidence(self) -> dict[str, float]:
        """For the history; nothing while it is not known."""
        if not math.isfinite(self.model_ms):
            return {}
        return {
            "latency_ms": self.latency_ms,
            "beyond_ms": self.beyond_ms,
            "model_ms": self.model_ms,
            "excess_samples": float(self.excess.samples),
            "excess_spread_ms": self.excess.spread_ms,
        }


class Predictions:
    """Of one flow. What is `heard` counts while the flow runs as it is meant to."""

    def __init__(self) -> None:
        self._running = RunningLatency()
        self._modelled_ms = math.nan
        """Up to the end of the last segments, by the newest prediction."""

    def made(self, model_ms: float, beyond_ms: float) -> Prediction:
        """The prediction for the place where the flow runs, of which the model says so."""
        if not math.isfinite(model_ms):
            return Prediction(model_ms, beyond_ms)
        self._modelled_ms = max(0.0, model_ms - beyond_ms)
        return Prediction(model_ms, beyond_ms, self._running.beyond(self._modelled_ms))

    def heard(self, row: OperatorMetrics, host: str | None, graph: FlowGraph, *, second: int) -> None:
        """A row came in this second, by the broker's clock. `host`: where the row's segment is meant to run."""
        if row.host != host:
            self.moved(second=second)
        elif row.latency_ms is not None and row.segment in _last_segments(graph):
            samples_ms = row.latency_ms.samples(ROW_SAMPLES_MAX)
            self._running.measured(second, (row.segment, row.partition, row.second), samples_ms)

    def moved(self, *, second: int) -> None:
        """The flow moves now, or is not where it is meant to be."""
        self._running.moved(second, self._modelled_ms)


def _last_segments(graph: FlowGraph) -> set[str]:
    return {segment.id for segment in graph.segments for edge in segment.outputs if edge.kind == "sink"}
