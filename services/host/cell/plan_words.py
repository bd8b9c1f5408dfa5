"""From what a leader decided to the messages that tell of it. Pure."""

import math

from placement.leader import Leader
from placement.leader_events import Alternative as PassedOver
from placement.leader_events import Published
from services.host.cell.flow_model import FlowModel
from topics.messages import Alternative, CommittedPlan, SegmentMove
from topics.messages.plans import ALTERNATIVES_MAX, Basis


def plan_message(
    published: Published, leader: Leader, model: FlowModel, *, revision: int, term: int, now_ms: int, delays: Basis
) -> CommittedPlan:
    """The plan as the placement service reads it: segments are the brain's tasks."""
    plan = published.plan
    basis: dict[str, Basis] = {f"{part}.{number}": origin for (part, number), origin in sorted(model.origins.items())}
    return CommittedPlan(
        flow=plan.flow,
        revision=revision,
        epoch=plan.epoch,
        hash=plan.hash,
        hosts={task: host for _, task, host in plan.placement.spots},
        moves=tuple(SegmentMove(move.task, move.origin, move.target) for move in plan.moves),
        cost_ms=_finite(published.cost_ms),
        latency_ms=_finite(published.own_ms),
        reason=published.reason,
        leader=leader.host,
        term=term,
        decided_ms=now_ms,
        basis=basis | {"delays": delays},
        alternatives=tuple(_alternative(each) for each in published.alternatives[:ALTERNATIVES_MAX]),
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


def _alternative(each: PassedOver) -> Alternative:
    dearer_ms = each.cost_ms - each.best_cost_ms
    why = (
        f"it costs {dearer_ms:.2f} ms more than what was chosen"
        if dearer_ms > 0
        else "it costs less by itself, but keeps the rest of the flow farther away"
    )
    return Alternative(dict(each.hosts), _finite(each.cost_ms), _finite(each.own_ms), why)


def _finite(value_ms: float) -> float:
    """JSON knows no infinity; a cost that is infinite is never chosen, only reported."""
    return max(0.0, value_ms) if math.isfinite(value_ms) else 1e12
