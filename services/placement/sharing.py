"""Shared segments in the registry: which plans may tap, and who is served by whom, put right at every look.

Who reads is the truth (`services/sharing/counts.py`). The entries of what is read say so too, for hosts and people: a
host that hears of a flow's withdrawal knows at once what must go on. Both are written in one transaction.
"""

from collections.abc import Iterator, Mapping

import msgspec

from services.placement.situation import KnownFlow, Situation
from services.placement.unfit import UnfitError
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.sharing_counts import fixed_taps, may_serve, readers
from services.sharing.equality import CannotTapError, feeding, promise, segment_of, tapped_edges
from services.sharing.taps import sound, still_tapped
from topics import catalogue
from topics.messages import CommittedPlan, Placement, TappedEdge

Kept = Mapping[str, tuple[str, ...]]
"""Segment -> the flows that read it, or something that it feeds."""


def check_taps(plan: CommittedPlan, known: KnownFlow, situation: Situation) -> None:
    """Whether a plan may tap what it does. Raises UnfitError."""
    fixed = fixed_taps(situation.view, plan.flow)
    tapped = [tap.segment for tap in plan.taps]
    if fixed is not None:
        if set(still_tapped(known.graph, fixed)) != set(plan.taps):
            raise UnfitError("what a flow reads of others can't change once it has run under its name")
    elif strange := next((tap for tap in plan.taps if not may_serve(situation.view, tap.server)), None):
        raise UnfitError(f"flow {strange.server} does not run as it was first submitted, so it serves no newcomer")
    if unsound := sorted(set(tapped) - sound(known.graph, tapped)):
        raise UnfitError(f"segment {unsound[0]} can't be tapped, because something before it has to run")
    for tap in plan.taps:
        placed = situation.view.placements.of(tap.server).values()
        entries = [each for each in placed if each.segment == tap.server_segment]
        if not entries or any(each.host is None for each in entries):
            raise UnfitError(f"segment {tap.server_segment} of {tap.server}, which it would read, does not run")
    served_edges(plan, known, situation)
    _check_serving(plan, known, situation)


def _check_serving(plan: CommittedPlan, known: KnownFlow, situation: Situation) -> None:
    """A revision may have been submitted in the moment in which others began to read."""
    for each in situation.placed(plan.flow).values():
        segment = segment_of(known.graph, each.segment)
        if each.serves and (segment is None or promise(known.graph, segment) != each.promise):
            tappers = ", ".join(each.serves)
            raise UnfitError(
                f"it would change what {', '.join(each.operators)} give, which {tappers} read; "
                f"submit the flow as it was, or withdraw {tappers}"
            )


def served_edges(plan: CommittedPlan, known: KnownFlow, situation: Situation) -> tuple[TappedEdge, ...]:
    """The edges of a flow that others serve under this plan. Raises UnfitError."""
    found: list[TappedEdge] = []
    for tap in plan.taps:
        server = situation.flows.get(tap.server)
        if server is None:
            raise UnfitError(f"flow {tap.server} is not known")
        try:
            found += tapped_edges(known.graph, server.graph, tap)
        except CannotTapError as reason:
            raise UnfitError(str(reason)) from reason
    return tuple(found)


def kept_for_others(situation: Situation) -> Kept:
    """What must go on, whatever becomes of its own flow."""
    found: dict[str, set[str]] = {}
    for segment_id, tappers in readers(situation.view).items():
        for each in _kept_with(segment_id, situation):
            found.setdefault(each, set()).update(tappers)
    return {segment: tuple(sorted(tappers)) for segment, tappers in found.items()}


def _kept_with(segment_id: str, situation: Situation) -> frozenset[str]:
    """A segment and what feeds it. Of a revision that has it no longer and should not be there: all that served."""
    flow = segment_id.rpartition(".")[0]
    known = situation.flows.get(flow)
    segment = segment_of(known.graph, segment_id) if known is not None else None
    if known is not None and segment is not None:
        return feeding(known.graph, segment)
    serving = (each for each in situation.view.placements.of(flow).values() if each.serves)
    return frozenset({segment_id, *(each.segment for each in serving)})


def serve(situation: Situation, *, by: str) -> Iterator[Entry]:
    """Bring the entries of what is read, or was, in line with who reads it."""
    kept = kept_for_others(situation)
    concerned = [item for item in situation.view.placements.items() if item[1].serves or item[0][0] in kept]
    for slot, before in sorted(concerned):
        tappers, known = kept.get(slot[0], ()), situation.flows.get(before.flow)
        if known is None:
            continue
        after = _told(before, tappers, known)
        if after.serves and after.host is None:
            after = _raised(after, situation)
        if after == before:
            continue
        situation.view.take(after)
        yield catalogue.PLACEMENTS, after
        if after.serves != before.serves and slot[1] == 0:
            who = f"is read by {', '.join(tappers)}" if tappers else "is read by its own flow alone"
            what = f"{', '.join(before.operators)} of {before.flow} {who}"
            why = "equal segments of several flows run once" if tappers else "the other flows have ended"
            yield decision("shared", what, why, by=by, now_ms=situation.now_ms, flow=before.flow, plan=before.plan)


def _told(before: Placement, tappers: tuple[str, ...], known: KnownFlow) -> Placement:
    """The promise is given to the first who reads, and kept until the last one has gone."""
    if before.serves == tappers:
        return before
    segment = segment_of(known.graph, before.segment)
    given = before.promise
    if given is None and segment is not None:
        given = promise(known.graph, segment)
    return msgspec.structs.replace(before, serves=tappers, promise=given if tappers else None)


def _raised(before: Placement, situation: Situation) -> Placement:
    """Somebody ended it in the moment in which another flow began to read it."""
    host = situation.best_host()
    if host is None:
        return before
    return msgspec.structs.replace(
        before, host=host, epoch=before.epoch + 1, placed_ms=situation.now_ms, standbys=(), origin=None
    )
