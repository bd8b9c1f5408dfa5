"""From what a leader decided to the messages that tell of it. Pure."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from placement.admission import Refusal
from placement.leader import Leader
from placement.leader_attempt import Reason
from placement.leader_events import Alternative as PassedOver
from placement.leader_events import GaveUp, Proposed, Published, Stayed
from placement.leader_params import LIVE_LEADER
from placement.model import Flow, Plan
from services.host.cell.flow_model import FlowModel
from services.host.cell.plan_grounds import Way, grounds, network_bytes
from services.host.cell.predictions import Prediction
from services.registry.decisions import BUSY, WEIGHED, decision
from services.registry.told_latency import DEBT, NOW
from topics.messages import (
    Alternative,
    CommittedPlan,
    Figures,
    Message,
    ProposedPlan,
    Request,
    SegmentMove,
    SegmentTap,
    VainTry,
    clip,
)
from topics.messages.plans import ALTERNATIVES_MAX, Basis
from topics.topic import Topic


@dataclass(frozen=True, slots=True)
class Reckoned:
    """What leaders of this host reckon with at the moment, beside the flow: delays, and how busy hosts are."""

    way_ms: Way
    delays: Basis
    busy: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a leader's plan rests on beside what its ants found: of which revision, under which lease, with which taps,
    after what was tried in vain, when. `excess_ms`: what the flow takes beyond the model, there as here."""

    leader: str
    revision: int
    term: int
    taps: tuple[SegmentTap, ...]
    in_vain: tuple[VainTry, ...]
    now_ms: int
    excess_ms: float = 0.0


def plan_message(published: Published, model: FlowModel, reckoned: Reckoned, terms: Terms) -> CommittedPlan:
    """The plan as the placement service reads it: segments are the brain's tasks."""
    return CommittedPlan(reason=published.reason, **_found(published, model, reckoned, terms))


def proposal_message(proposed: Proposed, model: FlowModel, reckoned: Reckoned, terms: Terms) -> ProposedPlan:
    """The same, for a person to approve. Its hash is of this very dry run: a yes is to the figures that were shown."""
    own_hash = hashlib.sha256(f"{proposed.plan.hash}/{terms.term}/{terms.now_ms}".encode()).hexdigest()[:16]
    found = _found(proposed, model, reckoned, terms) | {"hash": own_hash}
    return ProposedPlan(reason=Reason.PROPOSE.value, objection=proposed.objection, **found)


def unmoved(plan: Plan, before: CommittedPlan) -> Figures:
    """What a flow costs where it runs after a plan was not carried out: that is known if nothing has moved at all."""
    ran = before.hosts | {move.segment: move.origin for move in before.moves if move.target is not None}
    return before.now if before.now is not None and _hosts(plan) == ran else Figures()


def corrected_plan(plan: Plan, before: CommittedPlan, known: Figures, reason: str, terms: Terms) -> CommittedPlan:
    """What runs instead of the plan before. `known`: of what it costs there."""
    return msgspec.structs.replace(
        before,
        epoch=plan.epoch,
        hash=plan.hash,
        hosts=_hosts(plan),
        moves=(),
        cost_ms=known.cost_ms or 0.0,
        latency_ms=known.latency_ms or 0.0,
        reason=clip(reason),
        leader=terms.leader,
        term=terms.term,
        decided_ms=terms.now_ms,
        alternatives=(),
        grounds={},
        now=known,
        then=known,
        corrects=before.hash,
        in_vain=terms.in_vain,
    )


def _hosts(plan: Plan) -> dict[str, str]:
    return {task: host for _, task, host in plan.placement.spots}


def _found(found: Published | Proposed, model: FlowModel, reckoned: Reckoned, terms: Terms) -> dict[str, Any]:
    """What ants found, as both kinds of plan tell it. The excess is in all latencies alike, now and then."""
    plan, graph, way_ms = found.plan, model.flow.graph, reckoned.way_ms
    hops_ms = model.hops.total_ms + terms.excess_ms
    basis: dict[str, Basis] = {f"{part}.{number}": origin for (part, number), origin in sorted(model.origins.items())}
    where = {graph.task_index[task]: host for _, task, host in plan.placement.spots}
    before = where | {graph.task_index[move.task]: move.origin for move in plan.moves if move.target is not None}
    known_before = {task: host for task, host in before.items() if host is not None}
    ran = known_before if len(known_before) == len(where) else None
    # A committed plan has its room booked, and its leader takes it for what runs: only rates and delays can change.
    is_open = isinstance(found, Proposed)
    busy, now_cost_ms = (reckoned.busy, found.now_cost_ms) if is_open else ({}, math.nan)
    return {
        "flow": plan.flow,
        "revision": terms.revision,
        "leader": terms.leader,
        "term": terms.term,
        "decided_ms": terms.now_ms,
        "taps": terms.taps,
        "in_vain": terms.in_vain,
        "epoch": plan.epoch,
        "hash": plan.hash,
        "hosts": _hosts(plan),
        "moves": tuple(SegmentMove(move.task, move.origin, move.target) for move in plan.moves),
        "cost_ms": _finite(found.cost_ms),
        "latency_ms": _finite(found.own_ms + hops_ms),
        "basis": basis | {"delays": reckoned.delays},
        "alternatives": tuple(_alternative(each, hops_ms) for each in found.alternatives[:ALTERNATIVES_MAX]),
        "grounds": grounds(model.flow, where, way_ms, busy=busy, now_cost_ms=now_cost_ms),
        "now": Figures(
            latency_ms=_known(found.now_own_ms + hops_ms),
            cost_ms=_known(found.now_cost_ms),
            network_bytes=network_bytes(graph, ran, way_ms) if ran is not None else None,
        ),
        "then": Figures(
            latency_ms=_known(found.own_ms + hops_ms),
            cost_ms=_known(found.cost_ms),
            network_bytes=network_bytes(graph, where, way_ms),
        ),
    }


def weighed(
    plan: CommittedPlan, model: FlowModel, reckoned: Reckoned, *, now_cost_ms: float, by: str, now_ms: int, request: str
) -> tuple[Topic[Any], Message]:
    """A leader's word on a plan that a person wants carried out: what it was made from, as that is by now."""
    index = model.flow.graph.task_index
    where = {index[segment]: host for segment, host in plan.hosts.items()}
    return decision(
        WEIGHED,
        f"plan {plan.hash} of {plan.flow}",
        "somebody wants it carried out; this is what it rests on by now",
        by=by,
        now_ms=now_ms,
        flow=plan.flow,
        plan=plan.hash,
        request=request,
        evidence=grounds(model.flow, where, reckoned.way_ms, busy=reckoned.busy, now_cost_ms=now_cost_ms),
    )


def busy(flow: str, reason: Reason, request: Request, *, by: str, now_ms: int) -> tuple[Topic[Any], Message]:
    """A leader's answer to who wants to know what it would do, while it has no time for that."""
    why = f"its leader still looks for a place itself: {reason.value}"
    what = f"what the leader of {flow} would do"
    return decision(BUSY, what, why, by=by, now_ms=now_ms, flow=flow, request=request.request)


def proposed(plan: ProposedPlan, now: Prediction, *, request: str | None) -> tuple[Topic[Any], Message]:
    """For the history and for whoever asked: what a leader would do, and what the flow takes where it runs."""
    now_cost_ms = plan.now.cost_ms if plan.now is not None else None
    cost = {"now_cost_ms": now_cost_ms} if now_cost_ms is not None else {}
    evidence = {"cost_ms": plan.cost_ms, "latency_ms": plan.latency_ms} | cost
    evidence |= {f"{NOW}{name}": value for name, value in now.evidence().items()}
    what, why = f"plan {plan.hash} of {plan.flow}: {_where(plan)}", plan.objection or "the leader would do it by itself"
    return _told("proposed", plan, what, why, evidence, request=request)


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


def planned(
    plan: CommittedPlan, prediction: Prediction, *, request: str | None, debt_ms: float = 0.0
) -> tuple[Topic[Any], Message]:
    """For the history: a leader committed a plan."""
    where = ", ".join([_where(plan), *(f"{tap.segment} served by {tap.server}" for tap in plan.taps)])
    evidence = {"cost_ms": plan.cost_ms, "epoch": float(plan.epoch)} | prediction.evidence() | _debt(debt_ms)
    return _told("planned", plan, f"plan {plan.hash} of {plan.flow}: {where}", plan.reason, evidence, request=request)


def kept(
    stayed: Stayed, prediction: Prediction, *, by: str, now_ms: int, request: str | None, debt_ms: float = 0.0
) -> tuple[Topic[Any], Message]:
    """For the history: ants looked for a better place, and the flow stays where it is."""
    costs = {"now_cost_ms": stayed.now_cost_ms, "best_cost_ms": stayed.best_cost_ms}
    known = {name: value for name, value in costs.items() if math.isfinite(value)}
    return decision(
        "kept",
        f"{stayed.flow} stays where it is",
        stayed.why,
        by=by,
        now_ms=now_ms,
        flow=stayed.flow,
        request=request,
        evidence=known | prediction.evidence() | _debt(debt_ms),
    )


def _debt(debt_ms: float) -> dict[str, float]:
    """For how long no ants leave without need, if that is longer than leaders rest anyway."""
    return {DEBT: debt_ms / 1e3} if LIVE_LEADER.watch_every_ms < debt_ms < math.inf else {}


def corrected(plan: CommittedPlan, *, best_cost_ms: float | None, beyond_ms: float) -> tuple[Topic[Any], Message]:
    """For the history: a flow does not run as planned, and where it does. `best_cost_ms`: of a place that it did not
    get to; `beyond_ms`: behind the last segments."""
    now = plan.now or Figures()
    figures = {"now_cost_ms": now.cost_ms, "best_cost_ms": best_cost_ms, "latency_ms": now.latency_ms}
    evidence = {name: value for name, value in figures.items() if value is not None}
    evidence |= {"beyond_ms": beyond_ms} if now.latency_ms is not None else {}
    return _told("kept", plan, f"{plan.flow} stays where it is: {_where(plan)}", plan.reason, evidence)


def _where(plan: CommittedPlan) -> str:
    return ", ".join(f"{segment} on {host}" for segment, host in sorted(plan.hosts.items()))


def _told(
    kind: str, plan: CommittedPlan, what: str, why: str, evidence: dict[str, float], *, request: str | None = None
) -> tuple[Topic[Any], Message]:
    """A leader's word on a plan, at the time when it made it."""
    return decision(
        kind,
        what,
        why,
        by=plan.leader,
        now_ms=plan.decided_ms,
        flow=plan.flow,
        plan=plan.hash,
        request=request,
        evidence=evidence,
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


def _known(value: float) -> float | None:
    """A figure that somebody could tell."""
    return max(0.0, value) if math.isfinite(value) else None
