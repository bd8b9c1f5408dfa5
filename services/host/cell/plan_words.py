"""From what a leader decided to the messages that tell of it. Pure."""

import math
from dataclasses import dataclass
from typing import Any

from placement.admission import Refusal
from placement.leader import Leader
from placement.leader_events import Alternative as PassedOver
from placement.leader_events import GaveUp, Published, Stayed
from placement.model import Flow
from services.host.cell.flow_model import FlowModel
from services.registry.decisions import decision
from topics.messages import Alternative, CommittedPlan, Message, SegmentMove, SegmentTap
from topics.messages.plans import ALTERNATIVES_MAX, Basis
from topics.topic import Topic


@dataclass(frozen=True, slots=True)
class Prediction:
    """A flow's latency as the model sees it: in all, and the part of it behind the last segment, up to the sinks."""

    latency_ms: float
    beyond_ms: float

    def evidence(self) -> dict[str, float]:
        """For the history; nothing while it is not known."""
        if not math.isfinite(self.latency_ms):
            return {}
        return {"latency_ms": self.latency_ms, "beyond_ms": self.beyond_ms}


def plan_message(
    published: Published,
    leader: Leader,
    model: FlowModel,
    taps: tuple[SegmentTap, ...],
    *,
    revision: int,
    term: int,
    now_ms: int,
    delays: Basis,
) -> CommittedPlan:
    """The plan as the placement service reads it: segments are the brain's tasks."""
    plan, hops_ms = published.plan, model.hops.total_ms
    basis: dict[str, Basis] = {f"{part}.{number}": origin for (part, number), origin in sorted(model.origins.items())}
    return CommittedPlan(
        flow=plan.flow,
        revision=revision,
        epoch=plan.epoch,
        hash=plan.hash,
        hosts={task: host for _, task, host in plan.placement.spots},
        moves=tuple(SegmentMove(move.task, move.origin, move.target) for move in plan.moves),
        cost_ms=_finite(published.cost_ms),
        latency_ms=_finite(published.own_ms + hops_ms),
        reason=published.reason,
        leader=leader.host,
        term=term,
        decided_ms=now_ms,
        basis=basis | {"delays": delays},
        alternatives=tuple(_alternative(each, hops_ms) for each in published.alternatives[:ALTERNATIVES_MAX]),
        taps=taps,
    )


def ended_plan(leader: Leader, *, revision: int, term: int, now_ms: int) -> CommittedPlan:
    """The flow runs nowhere any more. Its epoch stays: it never starts again."""
    return CommittedPlan(
        flow=leader.flow.name,
        revision=revision,
        epoch=leader.epoch,
        hash="ended",
        hosts={},
        moves=(),
        cost_ms=0.0,
        latency_ms=0.0,
        reason="the flow was withdrawn",
        leader=leader.host,
        term=term,
        decided_ms=now_ms,
        basis={},
    )


def planned(plan: CommittedPlan, prediction: Prediction, *, request: str | None) -> tuple[Topic[Any], Message]:
    """For the history: a leader committed a plan."""
    where = ", ".join(
        [
            *(f"{segment} on {host}" for segment, host in sorted(plan.hosts.items())),
            *(f"{tap.segment} served by {tap.server}" for tap in plan.taps),
        ]
    )
    return decision(
        "planned",
        f"plan {plan.hash} of {plan.flow}: {where}",
        plan.reason,
        by=plan.leader,
        now_ms=plan.decided_ms,
        flow=plan.flow,
        plan=plan.hash,
        request=request,
        evidence={"cost_ms": plan.cost_ms, "epoch": float(plan.epoch)} | prediction.evidence(),
    )


def kept(
    stayed: Stayed, prediction: Prediction, *, by: str, now_ms: int, request: str | None
) -> tuple[Topic[Any], Message]:
    """For the history: ants looked for a better place, and the flow stays where it is."""
    evidence = {"now_cost_ms": stayed.now_cost_ms, "best_cost_ms": stayed.best_cost_ms}
    return decision(
        "kept",
        f"{stayed.flow} stays where it is",
        stayed.why,
        by=by,
        now_ms=now_ms,
        flow=stayed.flow,
        request=request,
        evidence={name: value for name, value in evidence.items() if math.isfinite(value)} | prediction.evidence(),
    )


def refused(
    gave_up: GaveUp, refusal: Refusal, flow: Flow, *, bound_ms: float | None, by: str, now_ms: int, request: str | None
) -> tuple[Topic[Any], Message]:
    """For the history and for whoever submitted the flow: what stands in the way, and what would do."""
    evidence: dict[str, float | str] = {"binding": refusal.binding, "attempts": gave_up.why}
    if bound_ms is not None:
        evidence["bound_ms"] = bound_ms
    if refusal.nearest_bound_ms is not None:
        evidence["nearest_bound_ms"] = refusal.nearest_bound_ms
    why = refusal.why if refusal.binding != "none" else f"{gave_up.why}; {refusal.why}, so it is tried again"
    what = f"{flow.name} is not placed"
    return decision("refused", what, why, by=by, now_ms=now_ms, flow=flow.name, request=request, evidence=evidence)


def _alternative(each: PassedOver, hops_ms: float) -> Alternative:
    dearer_ms = each.cost_ms - each.best_cost_ms
    why = (
        f"it costs {dearer_ms:.2f} ms more than what was chosen"
        if dearer_ms > 0
        else "it costs less by itself, but keeps the rest of the flow farther away"
    )
    return Alternative(dict(each.hosts), _finite(each.cost_ms), _finite(each.own_ms + hops_ms), why)


def _finite(value_ms: float) -> float:
    """JSON knows no infinity; a cost that is infinite is never chosen, only reported."""
    return max(0.0, value_ms) if math.isfinite(value_ms) else 1e12
