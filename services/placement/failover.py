"""What lost hosts ran: placed anew at a standby or at another host, a few at a time.

The flow's leader has the first word: it gets a moment to publish a plan without the lost host. Without one, and for
flows without a leader, this rule decides.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from services.placement.params import PlacementParams
from services.placement.situation import Situation
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.view import Slot
from topics import catalogue
from topics.messages import Placement


def fail_over(situation: Situation, busy: frozenset[Slot], params: PlacementParams) -> Iterator[Entry]:
    """What to write now. `busy`: partitions that a move cares for. The rest is done at later looks."""
    recovering = Counter(
        placement.host
        for slot, placement in situation.view.placements.items()
        if placement.host in situation.live and _is_recovering(slot, situation)
    )
    lost = [item for item in situation.view.placements.items() if item[1].host in situation.lost_since_ms]
    for slot, before in sorted(lost):
        if before.host is None or slot in busy or _has_ended(before, situation):
            continue
        if situation.now_ms < situation.lost_since_ms[before.host] + params.plan_patience_s * 1_000:
            continue
        full = frozenset(host for host, count in recovering.items() if host and count >= params.recovering_per_host_max)
        heir = situation.best_host(apart_from=full | situation.lost, prefer=_standbys(before, situation))
        if heir is None:
            continue  # tried again at every look: some may be full only now, or come back
        recovering[heir] += 1
        after = msgspec.structs.replace(
            before,
            host=heir,
            epoch=before.epoch + 1,
            placed_ms=situation.now_ms,
            standbys=tuple(host for host in before.standbys if host not in (heir, before.host)),
            origin=None,
        )
        situation.view.take(after)
        yield catalogue.PLACEMENTS, after
        yield decision(
            "failed_over",
            f"{slot[0]}/{slot[1]} from {before.host} to {heir}",
            f"host {before.host} is gone" + (", and this one followed it" if heir in before.standbys else ""),
            by=params.name,
            now_ms=situation.now_ms,
            flow=before.flow,
            plan=before.plan,
            evidence=_silence(before.host, situation, params),
        )


def _is_recovering(slot: Slot, situation: Situation) -> bool:
    """Whether its present owner has yet to get it to run. One that has parked it does nothing for it: counted, a flow
    that is parked in sixteen partitions on each host would keep what others lost from being placed, for good."""
    return not (situation.says(slot, "running") or situation.says(slot, "parked"))


def _silence(host: str, situation: Situation, params: PlacementParams) -> dict[str, float]:
    """For how long nothing was heard of a host, and for how long it was known to be lost: since our patience ended."""
    known_ms = float(situation.now_ms - situation.lost_since_ms[host])
    return {"silent_ms": known_ms + params.silent_s_max * 1_000, "known_ms": known_ms}


def _standbys(before: Placement, situation: Situation) -> tuple[str, ...]:
    """Those that are ready first, then those that have read the most."""

    def rank(host: str) -> tuple[bool, int, str]:
        told = situation.view.standbys.get((before.segment, before.partition, host))
        return (told is None or not told.is_ready, -told.entries if told is not None else 0, host)

    return tuple(sorted(before.standbys, key=rank))


def _has_ended(placement: Placement, situation: Situation) -> bool:
    """Whether nobody wants it any more, neither the flow's user nor a flow that reads it."""
    flow = situation.view.flows.get(placement.flow)
    return flow is None or (flow.state == "withdrawn" and not placement.serves)
