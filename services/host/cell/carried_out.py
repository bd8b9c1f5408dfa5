"""Whether a flow runs as its leader planned, by what the registry says once all is quiet (decision 320). Pure.

A plan is a wish. The placement service makes its moves one by one, and some are not made: the flow allows no such
pause, a target can't take over, a host is drained, nobody approves it. And what a lost host ran it places anew, if the
leader does not. Whoever reckons with the plan must know.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from placement.leader import Leader
from placement.leader_attempt import Reason
from placement.leader_events import NotCarriedOut
from placement.leader_phases import Phase
from placement.moves import ENDED
from services.host.cell.led import Led
from services.registry.view import RegistryView, Slot
from topics.messages import CommittedPlan, MoveRecord, Placement

UNBEGUN_MS = 60_000
"""A plan of which nothing was begun for so long is refused by the placement service, or there is none."""
UNAPPROVED_MS = 960_000
"""Where plans wait for a person: a little longer than one can be approved (PlacementParams.approval_age_s_max)."""

UNAPPROVED = "nobody approved it in time"
UNBEGUN = "nothing of it was begun"
_ENDED = {phase.value for phase in ENDED}


@dataclass(frozen=True, slots=True)
class PlacedAnew:
    """A flow runs although its leader found no place for it after hosts were lost: others have placed it, or the hosts
    are back (decision 336)."""

    hosts: dict[str, str]
    """Of each segment."""


def told_otherwise(
    view: RegistryView, led: Led, leader: Leader, *, live: Collection[str], now_ms: float
) -> NotCarriedOut | PlacedAnew | None:
    """What a leader that rests must know of how its flow runs; None if that is as it thinks, may still come to be, or
    has yet to be read."""
    plan = view.plans.get(led.name)
    if plan is None or leader.plan is None or leader.phase is not Phase.RESTING:
        return None
    if (plan.revision, plan.term, plan.epoch) != (led.revision, led.term, leader.plan.epoch):
        return None
    why_look = leader.standing.why_look()
    if why_look is Reason.WATCH:
        return compared(view, plan, led.policy(view), live=live, now_ms=now_ms)
    return placed_anew(view, plan, live=live) if why_look is Reason.LOST else None


def placed_anew(view: RegistryView, plan: CommittedPlan, *, live: Collection[str]) -> PlacedAnew | None:
    """Where all of a flow runs that has lost hosts of its plan; None as long as something of it is nowhere."""
    placed = _at_rest(view, plan, live=live)
    return PlacedAnew(_where(placed, plan, meant=())) if placed is not None else None


def compared(
    view: RegistryView, plan: CommittedPlan, policy: str, *, live: Collection[str], now_ms: float
) -> NotCarriedOut | None:
    """How the flow runs otherwise than planned; None if it does not, or if that may still change.

    `policy`: of the flow. A segment whose partitions are on several hosts runs as planned if most of them do; the
    placement service tries to move the rest again as long as the plan stands. A plan by which a flow, or a revision of
    it, was to begin waits for a person, too, and can't be approved for ever.
    """
    ours = [each for each in view.placements.of(plan.flow).values() if each.host is not None]
    age_ms = now_ms - plan.decided_ms
    if not any(each.revision == plan.revision for each in ours):
        is_over = policy == "approve" and age_ms >= UNAPPROVED_MS
        return NotCarriedOut(plan.epoch, (), UNAPPROVED) if is_over else None
    placed = _at_rest(view, plan, live=live)
    if placed is None or not set(plan.hosts.values()) <= set(live):
        return None
    astray = {slot: each for slot, each in placed.items() if each.host != plan.hosts[slot[0]]}
    ended = [move for move in view.moves.of(plan.flow).values() if move.plan == plan.hash and _slot(move) in astray]
    wished = [move for move in ended if _is_wish(move, astray)]
    # Who moves half of a segment wants it on both hosts, and what says how the flow runs goes on saying so.
    meant = set(plan.hosts) if plan.corrects is not None else {move.segment for move in wished}
    where = _where(placed, plan, meant)
    patience_ms = UNBEGUN_MS if policy == "auto" else UNAPPROVED_MS
    is_tried = astray.keys() <= {_slot(move) for move in ended}
    if where == plan.hosts or (not is_tried and age_ms < patience_ms):
        return None
    elsewhere = {segment: host for segment, host in sorted(where.items()) if host != plan.hosts[segment]}
    by_person = any(move.segment in elsewhere for move in wished)
    why = _last_word([move for move in ended if move.segment in elsewhere], wished)
    if why is None:
        has_run = any(each.plan == plan.hash for slot, each in astray.items() if slot[0] in elsewhere)
        why = "it was placed anew since" if has_run else UNBEGUN if policy == "auto" else UNAPPROVED
    return NotCarriedOut(plan.epoch, tuple(elsewhere.items()), why, by_person=by_person)


def _at_rest(view: RegistryView, plan: CommittedPlan, *, live: Collection[str]) -> dict[Slot, Placement] | None:
    """The flow's partitions, all of which are on hosts that live; None if that is not so, or if something moves."""
    placed = {slot: each for slot, each in view.placements.of(plan.flow).items() if slot[0] in plan.hosts}
    is_whole = {segment for segment, _ in placed} == set(plan.hosts)
    is_ours = all(each.revision == plan.revision and each.host in live for each in placed.values())
    moves = [move for move in view.moves.of(plan.flow).values() if move.phase not in _ENDED]
    return placed if is_whole and is_ours and not moves else None


def _where(placed: dict[Slot, Placement], plan: CommittedPlan, meant: Collection[str]) -> dict[str, str]:
    """Segment -> the host that has the most of its partitions. With half of them a plan has not arrived, unless the
    segment is `meant` to be on several hosts (decision 335)."""
    found: dict[str, Counter[str]] = {}
    for (segment, _), each in sorted(placed.items()):
        assert each.host is not None, each
        found.setdefault(segment, Counter())[each.host] += 1

    def rank(segment: str, host: str) -> tuple[int, bool]:
        return -found[segment][host], (host == plan.hosts[segment]) is not (segment in meant)

    return {segment: min(counts, key=lambda host: rank(segment, host)) for segment, counts in found.items()}


def _slot(move: MoveRecord) -> Slot:
    return move.segment, move.partition


def _is_wish(move: MoveRecord, astray: dict[Slot, Placement]) -> bool:
    """Whether a person has put a partition where it is."""
    return move.phase == "done" and move.request is not None and astray[_slot(move)].host == move.target


def _last_word(ended: Sequence[MoveRecord], wished: Sequence[MoveRecord]) -> str | None:
    """On the move that failed last, or that a person has made since; None if there was no such move."""
    said = [move for move in ended if move.phase != "done" or move in wished]
    move = max(said, key=lambda each: each.since_ms, default=None)
    return f"{move.segment}/{move.partition} to {move.target}: {move.trouble or move.reason}" if move else None
