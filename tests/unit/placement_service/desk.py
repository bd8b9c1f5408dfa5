"""A conductor at its desk: the registry that it looks at, with some hosts, and what it writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from services.placement.conductor import Conductor
from services.placement.params import PlacementParams
from services.placement.situation import KnownFlow, Situation
from services.registry.view import RegistryView
from tests.unit.registry_messages import registration


@dataclass
class Desk:
    """Hosts that live at first are registered; who is lost later stays so."""

    view: RegistryView = field(default_factory=RegistryView)
    now_ms: int = 1_000_000
    live: set[str] = field(default_factory=lambda: {"a", "b", "c"})
    lost_since_ms: dict[str, int] = field(default_factory=dict)
    leader_terms: dict[str, int] = field(default_factory=dict)
    params: PlacementParams = field(default_factory=lambda: PlacementParams("p", "nowhere:1"))

    def __post_init__(self) -> None:
        for name in sorted(self.live):
            self.view.take(registration(name))
        self.another_instance()

    def another_instance(self) -> None:
        """Takes over, and knows only what the registry says."""
        self.conductor = Conductor(self.params, self.view)

    def look_at(self, flows: Mapping[str, KnownFlow]) -> list[Any]:
        """What was written, taken for true as the instance does."""
        live = frozenset(self.live - set(self.lost_since_ms))
        entries = self.conductor.look(
            Situation(self.view, self.now_ms, live, self.lost_since_ms, flows, self.leader_terms)
        )
        for _, message in entries:
            self.view.take(message)
        return [message for _, message in entries]
