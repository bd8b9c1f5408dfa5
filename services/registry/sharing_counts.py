"""Who reads whom, by what the registry says: the reference counts of shared segments. Pure.

They are not kept anywhere; they follow from the entries of those who read. So they are right whoever died last, and a
flow that ends gives up what it reads by ending.
"""

from services.registry.view import RegistryView
from topics.messages import SegmentTap


def fixed_taps(view: RegistryView, flow: str) -> tuple[SegmentTap, ...] | None:
    """What a flow taps, by all its entries, old ones too; None if it never ran.

    It stays so for good: what it has read so far are offsets of the serving flow's topics, and nobody else's.
    """
    entries = view.placements.of(flow).values()
    taps = {edge.tap for each in entries for edge in each.reads}
    return tuple(sorted(taps, key=lambda tap: tap.segment)) if entries else None


def readers(view: RegistryView) -> dict[str, tuple[str, ...]]:
    """Segment -> the flows that read what it writes, beside its own, in order."""
    found: dict[str, set[str]] = {}
    for each in view.placements.values():
        flow = view.flows.get(each.flow)
        if each.reads and each.host is not None and flow is not None and flow.state == "submitted":
            for edge in each.reads:
                found.setdefault(edge.tap.server_segment, set()).add(each.flow)
    return {segment: tuple(sorted(flows)) for segment, flows in sorted(found.items())}


def may_serve(view: RegistryView, flow: str) -> bool:
    """Whether a flow runs, under a plan and as it was submitted first, and reads nobody else's segments.

    What an earlier revision wrote may still lie on its edge topics. That who taps does not serve keeps the counts flat.
    """
    revision, plan = view.flows.get(flow), view.plans.get(flow)
    if revision is None or plan is None or (revision.state, revision.revision, plan.revision) != ("submitted", 1, 1):
        return False
    entries = view.placements.of(flow).values()
    return bool(entries) and all(each.host is not None and not each.reads for each in entries)
