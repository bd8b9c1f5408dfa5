"""Carrying out plans: what must be written so that a flow runs where its leader wants it.

A plan is carried out once for each partition: the registry's entry names the plan under which it runs. So a person who
moves a partition elsewhere, or a host that is lost, is not overruled by an old plan, only by the next one. A plan that
corrects the one before says where the flow runs: its partitions are put under it as they are.
"""

from collections.abc import Iterator

import msgspec

from services.placement.carriage import Carriage
from services.placement.sharing import Kept, check_taps, kept_for_others, served_edges
from services.placement.situation import KnownFlow, Situation
from services.placement.unfit import UnfitError
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.view import Slot
from services.sharing.taps import edges_read, left_to_run
from topics import catalogue
from topics.messages import CommittedPlan, Placement, TappedEdge


def check(plan: CommittedPlan, known: KnownFlow, situation: Situation) -> None:
    """The one check that every plan must pass before anything of it is done. Raises UnfitError."""
    if plan.revision != known.revision.revision:
        raise UnfitError(f"it is for revision {plan.revision} of the flow, which is now at {known.revision.revision}")
    segments = left_to_run(known.graph, [tap.segment for tap in plan.taps])
    if missing := sorted(segments - plan.hosts.keys()):
        raise UnfitError(f"it says nothing of segment {missing[0]}")
    if strange := sorted(plan.hosts.keys() - segments):
        raise UnfitError(f"the flow has no segment {strange[0]}, or another one serves it")
    check_taps(plan, known, situation)
    for host in sorted(set(plan.hosts.values())):
        if host in situation.lost or host not in situation.view.hosts:
            raise UnfitError(f"host {host} does not live")
        if situation.is_drained(host):
            raise UnfitError(f"host {host} is drained; open it again with stigmergy drain --undo {host}")


def is_carried_out(plan: CommittedPlan, known: KnownFlow, situation: Situation) -> bool:
    """Whether every partition was placed under it; some may have gone elsewhere since."""
    entries = [situation.view.placements.get(slot) for slot in known.slots() if slot[0] in plan.hosts]
    return all(each is not None and (each.plan, each.revision) == (plan.hash, plan.revision) for each in entries)


def is_heard(plan: CommittedPlan, situation: Situation) -> bool:
    """Whether all its hosts have been heard lately, and all that run the flow now and are not lost: one that was not
    yet may just not have had the time. The plan may be of who took it for dead."""
    owners = {each.host for each in situation.placed(plan.flow).values() if each.revision == plan.revision}
    return situation.live >= {*plan.hosts.values(), *(owners - situation.lost)}


def carry_out(
    plan: CommittedPlan,
    known: KnownFlow,
    situation: Situation,
    carriage: Carriage,
    *,
    by: str,
    request: str | None = None,
) -> Iterator[Entry]:
    """What has not been done of it yet; nothing if all has."""
    started, proposed = [], []
    under_way, edges = carriage.under_way(), served_edges(plan, known, situation)
    for slot in known.slots():
        if slot[0] not in plan.hosts:
            continue
        target, before = plan.hosts[slot[0]], situation.view.placements.get(slot)
        if before is not None and (before.plan, before.revision) == (plan.hash, plan.revision):
            continue
        stays = before is not None and _stays(before, plan, situation)
        if not stays and plan.corrects is not None:
            continue  # it says where the flow runs; what does not run there any more is for those who take over
        if before is None or not stays:
            started.append(slot)
            reads = edges_read(known.graph, slot[0], edges)
            after = _placed(before, slot, target, plan, known, reads=reads, situation=situation)
            situation.view.take(after)
            yield catalogue.PLACEMENTS, after
        elif before.host == target or plan.corrects is not None:
            after = msgspec.structs.replace(before, plan=plan.hash)
            situation.view.take(after)
            yield catalogue.PLACEMENTS, after
        elif slot not in under_way and not carriage.tried(slot, plan.hash):
            proposed.append(slot)
            reason = f"plan {plan.hash}: {plan.reason}"
            yield carriage.propose(before, target, reason, situation, plan=plan.hash, request=request)
    yield from cleared(known, situation, kept_for_others(situation))
    if started or proposed:
        what = f"{len(started)} partitions start, {len(proposed)} are to move"
        yield decision(
            "placed" if started else "accepted",
            what,
            plan.reason,
            by=by,
            now_ms=situation.now_ms,
            flow=plan.flow,
            request=request,
            plan=plan.hash,
            # Where each figure came from stands in the plan: of a large flow it is more than a decision can hold.
            evidence={"cost_ms": plan.cost_ms, "latency_ms": plan.latency_ms},
        )


def cleared(known: KnownFlow, situation: Situation, kept: Kept) -> Iterator[Entry]:
    """Nobody runs what the flow has no longer, but for what others read; the entries stay, because an epoch never
    starts again."""
    wanted = set(known.slots()) if known.revision.state == "submitted" else set()
    for slot, before in situation.placed(known.revision.flow).items():
        if slot not in wanted and slot[0] not in kept:
            after = msgspec.structs.replace(
                before, host=None, epoch=before.epoch + 1, placed_ms=situation.now_ms, standbys=(), origin=None
            )
            situation.view.take(after)
            yield catalogue.PLACEMENTS, after


def _stays(before: Placement, plan: CommittedPlan, situation: Situation) -> bool:
    """Whether its owner works on it, so that it has to be moved rather than placed."""
    return before.host is not None and before.host not in situation.lost and before.revision == plan.revision


def _placed(
    before: Placement | None,
    slot: Slot,
    target: str,
    plan: CommittedPlan,
    known: KnownFlow,
    *,
    reads: tuple[TappedEdge, ...],
    situation: Situation,
) -> Placement:
    """Another revision may go elsewhere: who ran the one before drains first, as in a move, if it lives."""
    return Placement(
        segment=slot[0],
        partition=slot[1],
        epoch=before.epoch + 1 if before is not None else 1,
        host=target,
        flow=plan.flow,
        revision=plan.revision,
        operators=known.operators(slot[0]),
        placed_ms=situation.now_ms,
        standbys=tuple(host for host in before.standbys if host != target) if before is not None else (),
        origin=_drains(before, target, situation) if before is not None else None,
        plan=plan.hash,
        reads=reads,
        serves=before.serves if before is not None else (),
        promise=before.promise if before is not None else None,
        source_partitions=dict(known.topics),
    )


def _drains(before: Placement, target: str, situation: Situation) -> str | None:
    """Who may still have a batch in hand. In the middle of a move that is not the owner, which waits for its origin and
    has nothing to drain yet; a host says that it has drained to whoever names it as origin, with whatever epoch."""
    slot, origin = (before.segment, before.partition), before.origin
    if origin is not None and origin != target and origin in situation.live and not situation.says(slot, "running"):
        return origin
    return before.host if before.host != target and before.host in situation.live else None
