"""What the registry wants of this host: for each segment the flow that defines it, and its partitions that run here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.registry.view import RegistryView
from topics.messages import FlowRevision, Placement


@dataclass(frozen=True, slots=True)
class Wanted:
    """One segment on this host. Without placements it is to stop."""

    flow: FlowRevision | None = None
    placements: Mapping[int, Placement] = field(default_factory=dict)

    @property
    def text(self) -> str | None:
        """The flow's file; None while the flow is unknown or older than what was placed."""
        if self.flow is None or self.flow.revision < max(each.revision for each in self.placements.values()):
            return None
        return self.flow.text


def wanted_of(host: str, view: RegistryView) -> dict[str, Wanted]:
    """By segment, in the order of their names. A withdrawn flow runs nowhere, whatever its placements still say."""
    by_segment: dict[str, dict[int, Placement]] = {}
    for (segment, partition), placement in sorted(view.placements.items()):
        flow = view.flows.get(placement.flow)
        is_withdrawn = flow is not None and flow.state == "withdrawn" and flow.revision >= placement.revision
        if placement.host == host and not is_withdrawn:
            by_segment.setdefault(segment, {})[partition] = placement
    return {
        segment: Wanted(view.flows.get(next(iter(placements.values())).flow), placements)
        for segment, placements in by_segment.items()
    }
