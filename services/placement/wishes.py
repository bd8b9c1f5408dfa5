"""People's wishes: approvals and moves, each answered by a decision; and hosts that are to be left."""

from collections import Counter
from collections.abc import Iterator

from services.placement.carriage import Carriage
from services.placement.drift import drifted
from services.placement.params import PlacementParams
from services.placement.plans import carry_out, check
from services.placement.situation import Situation
from services.placement.unfit import UnfitError
from services.registry.changes import Entry
from services.registry.decisions import WEIGHED, decision
from services.registry.view import Slot
from topics import catalogue
from topics.messages import CommittedPlan, Decision, Request

REQUEST_AGE_MS_MAX = 600_000
"""A wish that nobody could answer for so long is not what its author expects any more."""


def answer(request: Request, situation: Situation, carriage: Carriage, params: PlacementParams) -> Iterator[Entry]:
    """What to write for one request, with the decision that answers it."""
    try:
        if situation.now_ms - request.asked_ms > REQUEST_AGE_MS_MAX:
            raise UnfitError("it was asked too long ago; ask again")
        if request.kind == "approve":
            yield from _approve(request, situation, carriage, params)
        else:
            yield from _move(request, situation, carriage, params)
    except UnfitError as unfit:
        yield decision(
            "refused",
            f"to {request.kind} {request.hash or request.segment}",
            unfit.why,
            by=params.name,
            now_ms=situation.now_ms,
            flow=request.flow,
            request=request.request,
            plan=request.hash,
            evidence=unfit.evidence,
        )


def is_early(request: Request, situation: Situation, params: PlacementParams) -> bool:
    """Whether what an approval needs is on its way: the flow itself has yet to be read, or its leader's word."""
    if request.kind != "approve" or situation.now_ms - request.asked_ms >= params.word_patience_s * 1_000:
        return False
    newest, known = situation.view.flows.get(request.flow), situation.flows.get(request.flow)
    if newest is not None and (known is None or known.revision.revision < newest.revision):
        return True
    plan = _wanted(request, situation)
    return plan is not None and bool(plan.grounds) and _word(request, situation) is None


def _wanted(request: Request, situation: Situation) -> CommittedPlan | None:
    """The plan that a request names: the newest that was committed, or the newest that was proposed."""
    plans = (situation.view.plans.get(request.flow), situation.view.proposals.get(request.flow))
    return next((plan for plan in plans if plan is not None and plan.hash == request.hash), None)


def _word(request: Request, situation: Situation) -> Decision | None:
    """What the flow's leader has said to this request."""
    said = situation.view.decisions.values()
    return next((each for each in said if each.request == request.request and each.kind == WEIGHED), None)


def _approve(request: Request, situation: Situation, carriage: Carriage, params: PlacementParams) -> Iterator[Entry]:
    newest, known = situation.view.plans.get(request.flow), situation.flows.get(request.flow)
    if newest is None or known is None:
        raise UnfitError(f"flow {request.flow} has no plan, or can't be read")
    plan = _wanted(request, situation)
    is_proposal = plan is not None and plan.hash != newest.hash
    if plan is None or (is_proposal and newest.epoch >= plan.epoch):
        raise UnfitError(
            f"the plan is {newest.hash} by now ({newest.reason}); look at it with stigmergy plan {request.flow}"
        )
    if situation.is_overruled(plan):
        raise UnfitError(f"flow {request.flow} has another leader by now, which is about to say what counts; ask again")
    check(plan, known, situation)
    _check_drift(plan, situation, params)
    if busy := sorted(carriage.under_way().keys() & set(known.slots())):
        # What moves just now would be left out, and nobody would come back to it: an approval is carried out once.
        moving = f"{busy[0][0]}/{busy[0][1]}"
        raise UnfitError(f"{moving} is moving just now; approve it again when that has ended", moving=moving)
    _check_grounds(request, plan, situation, params)
    if is_proposal:
        plan = _committed(plan, after=newest)
        situation.view.take(plan)
        yield catalogue.PLANS, plan
    yield from carry_out(plan, known, situation, carriage, by=params.name, request=request.request)
    yield decision(
        "approved",
        f"plan {plan.hash}",
        f"{request.asked_by or 'somebody'} said yes",
        by=params.name,
        now_ms=situation.now_ms,
        flow=plan.flow,
        request=request.request,
        plan=plan.hash,
    )


def _check_drift(plan: CommittedPlan, situation: Situation, params: PlacementParams) -> None:
    """Whether the world is still the one that the plan was made for. Raises UnfitError with what changed."""
    age_s = (situation.now_ms - plan.decided_ms) / 1_000
    if age_s > params.approval_age_s_max:
        raise UnfitError(f"it was made {age_s:.0f} s ago, and {params.approval_age_s_max:.0f} s are the most")
    for move in plan.moves:
        for slot, placement in situation.placed(plan.flow).items():
            if slot[0] == move.segment and move.origin is not None and placement.host not in (move.origin, move.target):
                raise UnfitError(f"{slot[0]}/{slot[1]} is at {placement.host} by now, not at {move.origin}")


def _check_grounds(request: Request, plan: CommittedPlan, situation: Situation, params: PlacementParams) -> None:
    """Whether what the plan was reckoned from still holds, by the word of the flow's leader. Raises UnfitError."""
    if not plan.grounds:
        return
    word = _word(request, situation)
    if word is None:
        raise UnfitError(
            f"the leader of {plan.flow} has not said within {params.word_patience_s:.0f} s what it rests on by now"
        )
    newest = {name: value for name, value in word.evidence.items() if isinstance(value, float | int)}
    if changes := drifted(plan.grounds, newest, params.drift):
        raise UnfitError(f"the world has changed since it was made: {'; '.join(changes)}")


def _committed(proposal: CommittedPlan, *, after: CommittedPlan) -> CommittedPlan:
    """A proposal as the plan that counts from now on, exactly as it was proposed."""
    fields = {name: getattr(proposal, name) for name in CommittedPlan.__struct_fields__}
    return CommittedPlan(**fields | {"term": max(proposal.term, after.term)})


def _move(request: Request, situation: Situation, carriage: Carriage, params: PlacementParams) -> Iterator[Entry]:
    assert request.segment is not None, request
    assert request.host is not None, request
    if not situation.is_open(request.host):
        raise UnfitError(f"host {request.host} does not live, or is drained")
    slots = [(request.segment, number) for number in request.partitions]
    for slot in slots:
        if (placement := situation.view.placements.get(slot)) is None or placement.host is None:
            raise UnfitError(f"{slot[0]}/{slot[1]} is not placed")
        if placement.host in situation.lost:
            raise UnfitError(
                f"{slot[0]}/{slot[1]} is on host {placement.host}, which is gone; it is placed anew by itself"
            )
        if slot in carriage.under_way():
            raise UnfitError(f"{slot[0]}/{slot[1]} is moving already", moving=f"{slot[0]}/{slot[1]}")
    moving = [slot for slot in slots if situation.view.placements[slot].host != request.host]
    for slot in moving:
        placement = situation.view.placements[slot]
        reason = f"{request.asked_by or 'somebody'} asked for it"
        more = {"plan": placement.plan, "request": request.request}
        yield carriage.propose(placement, request.host, reason, situation, **more)
    predicted_ms = max((carriage.predict(slot, request.host, situation) for slot in moving), default=0.0)
    yield decision(
        "accepted",
        f"{len(moving)} partitions of {request.segment} to {request.host}",
        f"{request.asked_by or 'somebody'} asked for it",
        by=params.name,
        now_ms=situation.now_ms,
        flow=request.flow,
        request=request.request,
        evidence={"predicted_pause_ms": predicted_ms},
    )


def leave_drained(situation: Situation, carriage: Carriage, resting: set[tuple[Slot, str]]) -> Iterator[Entry]:
    """Moves away from hosts that are to be left, not out of their region if another host there is open: what a flow's
    bounds allow its leader knows, and nobody else. `resting`: what was tried and is not tried again at once."""
    under_way = carriage.under_way()
    coming = Counter(move.target for move in under_way.values())
    for host in situation.drained():
        owned = [item for item in situation.view.placements.items() if item[1].host == host]
        for slot, placement in sorted(owned):
            if slot in under_way or host in situation.lost or (slot, host) in resting:
                continue
            target = situation.best_host(apart_from=frozenset({host}), near=host, coming=coming)
            if target is not None:
                coming[target] += 1
                resting.add((slot, host))
                more = {"plan": placement.plan, "request": f"drain/{host}"}
                yield carriage.propose(placement, target, f"host {host} is drained", situation, **more)
