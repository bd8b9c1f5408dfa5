"""What the registry wants of this host: which partitions of which segments it is to run, and which to follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from services.registry.view import RegistryView
from topics.messages import FlowRevision, Placement, TappedEdge


@dataclass(frozen=True, slots=True)
class Terms:
    """`reads`: the edges that other flows serve. `promise`: what those who read this segment count on.

    `source_partitions`: how many partitions the flow's source topics have, for all who run any part of it.
    """

    reads: tuple[TappedEdge, ...] = ()
    promise: str | None = None
    source_partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One segment on this host: `placements` to run here, `standbys` to follow while another host runs them."""

    flow: FlowRevision | None = None
    placements: Mapping[int, Placement] = field(default_factory=dict)
    standbys: Mapping[int, Placement] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether the segment is to stop."""
        return not self.placements and not self.standbys

    @property
    def text(self) -> str | None:
        """The flow's file; None while the flow is unknown or older than what was placed."""
        if self.flow is None or self.flow.revision < self.revision:
            return None
        return self.flow.text

    @property
    def revision(self) -> int:
        """The newest revision that was placed here."""
        return max(each.revision for each in self._all)

    @property
    def terms(self) -> "Terms":
        """How it shares with other flows. Partitions that were placed at different times agree on what they read.

        Topics only ever grow, so the largest count is the newest.
        """
        promises = {each.promise for each in self._all if each.promise is not None}
        counts: dict[str, int] = {}
        for each in self._all:
            counts |= {topic: max(count, counts.get(topic, 0)) for topic, count in each.source_partitions.items()}
        reads = next((each.reads for each in self._all if each.reads), ())
        return Terms(reads, min(promises, default=None), counts)

    @property
    def _all(self) -> list[Placement]:
        return [*self.placements.values(), *self.standbys.values()]


def wanted_of(host: str, view: RegistryView) -> dict[str, Wanted]:
    """By segment, in the order of their names. Of a withdrawn flow only what others read still runs, whatever its
    placements say."""
    by_segment: dict[str, Wanted] = {}
    for (segment, partition), placement in sorted(view.placements.items()):
        flow = view.flows.get(placement.flow)
        is_withdrawn = flow is not None and flow.state == "withdrawn" and flow.revision >= placement.revision
        if is_withdrawn and not placement.serves:
            continue
        if placement.host != host and host not in placement.standbys:
            continue
        before = by_segment.get(segment, Wanted(flow))
        chosen = {partition: placement}
        if placement.host == host:
            by_segment[segment] = replace(before, placements={**before.placements, **chosen})
        elif placement.host is not None:
            by_segment[segment] = replace(before, standbys={**before.standbys, **chosen})
    return by_segment
