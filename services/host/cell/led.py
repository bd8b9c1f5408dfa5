"""A flow that is led on this host, and the cluster as its leader must know it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from services.host.cell.flow_model import FlowModel
from services.host.cell.plan_words import Terms
from services.host.cell.predictions import Predictions
from services.host.cell.seen_rates import Seen
from services.registry.view import RegistryView
from topics.flow.graph import FlowGraph
from topics.messages import SegmentTap, VainTry


@dataclass(frozen=True, slots=True)
class Surface:
    """What a leader must know of the cluster: regions of the hosts that live, capacities of all."""

    regions: Mapping[str, str]
    capacities: Mapping[str, float]
    delays_measured: bool


@dataclass(slots=True)
class Led:
    """A flow that is led here."""

    revision: int
    term: int
    graph: FlowGraph
    model: FlowModel
    modelled_ms: float
    taps: tuple[SegmentTap, ...] = ()
    """What other flows run for it."""
    now_cost_ms: float = math.nan
    """Of where it runs, as ants measured it last."""
    warned_ms: dict[bool, float] = field(default_factory=dict)
    """When its leader was told last that it should leave: because of a bound that is broken (True), or soon (False)."""
    seen: Seen | None = None
    """How fast it comes, as the last host said that warned of it."""
    in_vain: tuple[VainTry, ...] = ()
    """What plans of this revision wanted and did not get."""
    predictions: Predictions = field(default_factory=Predictions)

    @property
    def name(self) -> str:
        """The flow's."""
        return self.graph.spec.name

    def policy(self, view: RegistryView) -> str:
        """What becomes of its plans: as a person has laid down, else as its file says."""
        return view.flow_policy(self.name, otherwise=self.graph.spec.moves)

    def terms(self, leader: str, now_ms: int) -> Terms:
        """What a plan rests on that its leader makes now."""
        return Terms(leader, self.revision, self.term, self.taps, self.in_vain, now_ms)
