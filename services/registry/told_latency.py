"""What a leader's decision tells of its flow's latency: one way to read it, for all who show or judge it. Pure."""

from dataclasses import dataclass

from topics.messages import Decision

DEBT = "debt_s"
"""For so long from a decision on, the flow's leader sends no ants without need: earlier ones are not paid for yet."""
NOW = "now_"
"""Before the figures of where the flow runs, in a decision that tells of another place."""


@dataclass(frozen=True, slots=True)
class ToldLatency:
    """Up to the sinks' readers: as predicted, as the model alone has it, and the part behind the last segments.

    `samples`: from how many latencies measured where the flow runs the difference was learnt; half of them lie within
    `spread_ms` of each other.
    """

    latency_ms: float
    model_ms: float
    beyond_ms: float
    samples: int
    spread_ms: float


def told_latency(decision: Decision) -> ToldLatency | None:
    """For where the flow runs by this decision; None if it tells nothing of that."""
    if decision.kind not in ("planned", "kept", "proposed"):
        return None
    prefix = NOW if decision.kind == "proposed" else ""

    def figure(name: str, otherwise: float) -> float:
        value = decision.evidence.get(f"{prefix}{name}")
        return float(value) if isinstance(value, float | int) else otherwise

    if f"{prefix}latency_ms" not in decision.evidence:
        return None
    latency_ms = figure("latency_ms", 0.0)
    return ToldLatency(
        latency_ms,
        figure("model_ms", latency_ms),
        figure("beyond_ms", 0.0),
        round(figure("excess_samples", 0.0)),
        figure("excess_spread_ms", 0.0),
    )
