"""Whether a leader's plan was carried out, by what the registry says once all is quiet (decision 320). Pure.

A plan is a wish. The placement service makes its moves one by one, and some are not made: the flow allows no such
pause, a target can't take over, a host is drained, nobody approves it. Whoever reckons with the plan must know.
"""

from collections import Counter
from collections.abc import Collection, Sequence

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
_ENDED = {phase.value for phase in ENDED}


def not_carried_out(
    view: RegistryView, led: Led, leader: Leader, *, live: Collection[str], now_ms: float
) -> NotCarriedOut | None:
    """What a leader that watches must know of its plan; None if that runs, may still come to, or has yet to be read."""
    plan = view.plans.get(led.name)
    is_watching = leader.phase is Phase.RESTING and leader.standing.why_look() is Reason.WATCH
    if plan is None or leader.plan is None or not is_watching:
        return None
    if (plan.revision, plan.term, plan.epoch) != (led.revision, led.term, leader.plan.epoch):
        return None
    ruled = view.policies.get(("flow", led.name))
    policy = ruled.policy if ruled is not None else led.graph.spec.moves
    return compared(view, plan, policy, live=live, now_ms=now_ms)


def compared(
    view: RegistryView, plan: CommittedPlan, policy: str, *, live: Collection[str], now_ms: float
) -> NotCarriedOut | None:
    """How the flow runs otherwise than planned; None if it does not, or if that may still change.

    `policy`: of the flow. A segment whose partitions are on several hosts runs as planned if one of them does. A plan
    by which a flow, or a revision of it, was to begin waits for a person, too, and can't be approved for ever.
    """
    ours = [each for each in view.placements.values() if each.flow == plan.flow and each.host is not None]
    age_ms = now_ms - plan.decided_ms
    if not any(each.revision == plan.revision for each in ours):
        is_over = policy == "approve" and age_ms >= UNAPPROVED_MS
        return NotCarriedOut(plan.epoch, (), UNAPPROVED) if is_over else None
    placed = {slot: each for slot, each in view.placements.items() if each.flow == plan.flow and slot[0] in plan.hosts}
    moves = [move for move in view.moves.values() if move.flow == plan.flow]
    hosts = {each.host for each in placed.values()} | set(plan.hosts.values())
    has_others = any(each.revision != plan.revision for each in placed.values())
    if has_others or not hosts <= set(live) or any(move.phase not in _ENDED for move in moves):
        return None
    where = _where(placed, plan)
    if set(where) != set(plan.hosts) or where == plan.hosts:
        return None
    astray = {slot: each for slot, each in placed.items() if each.host != plan.hosts[slot[0]]}
    ended = [move for move in moves if move.plan == plan.hash and (move.segment, move.partition) in astray]
    patience_ms = UNBEGUN_MS if policy == "auto" else UNAPPROVED_MS
    is_tried = astray.keys() <= {(move.segment, move.partition) for move in ended}
    if not is_tried and age_ms < patience_ms:
        return None
    elsewhere = tuple((segment, host) for segment, host in sorted(where.items()) if host != plan.hosts[segment])
    wished = [move for move in ended if move.phase == "done" and _is_wish(move, astray)]
    return NotCarriedOut(plan.epoch, elsewhere, _why(ended, wished, policy), by_person=bool(wished))


def _where(placed: dict[Slot, Placement], plan: CommittedPlan) -> dict[str, str]:
    """Segment -> host: that of the plan if any of its partitions is there, else the one with the most of them."""
    found: dict[str, Counter[str]] = {}
    for (segment, _), each in sorted(placed.items()):
        assert each.host is not None, each
        found.setdefault(segment, Counter())[each.host] += 1
    return {
        segment: plan.hosts[segment] if plan.hosts[segment] in counts else min(counts, key=lambda host: -counts[host])
        for segment, counts in found.items()
    }


def _is_wish(move: MoveRecord, astray: dict[Slot, Placement]) -> bool:
    """Whether a person has put a partition where it is."""
    return move.request is not None and astray[move.segment, move.partition].host == move.target


def _why(ended: Sequence[MoveRecord], wished: Sequence[MoveRecord], policy: str) -> str:
    """The last word on it."""
    failed = [move for move in ended if move.phase != "done"]
    for move in sorted([*failed, *wished], key=lambda each: each.since_ms, reverse=True):
        why = move.trouble or move.reason
        return f"{move.segment}/{move.partition} to {move.target}: {why}"
    if ended:
        return "it was placed anew since"
    return "nothing of it was begun" if policy == "auto" else UNAPPROVED
