"""How fast a flow comes, as a host tells that warns of a hot spot: sooner than models or a mean of seconds can. Pure.

A host sees what enters a segment. What comes from the sources is more or less by what becomes of it before: as the
model has it, and with all sources faster alike.
"""

from dataclasses import dataclass, replace

from services.host.cell.flow_model import FlowModel, Origin
from services.host.cell.rows import KEPT_S

HEEDED_MS = KEPT_S * 1e3
"""For so long it is priced: by then what is measured is all of the time since."""
FASTER_MAX = 8.0
"""By more no flow is thought to be faster, if the segment does not read the sources: what becomes of records before it
may have changed instead, of those say that a filter let pass hardly ever."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What entered a segment, and when that was told, by the brain's clock."""

    segment: str
    per_s: float
    told_ms: float

    def is_fresh(self, now_ms: float) -> bool:
        """Whether it counts."""
        return now_ms - self.told_ms < HEEDED_MS


def priced(model: FlowModel, seen: Seen) -> FlowModel:
    """The model with at least that rate. A segment that is not of the flow (it runs in another one) tells nothing."""
    graph = model.flow.graph
    task = graph.task_index.get(seen.segment)
    if task is None:
        return model
    factor = seen.per_s / 1e3 / sum(edge.rate_per_ms for edge in graph.into[task])
    if not all(edge.from_source for edge in graph.into[task]):
        factor = min(factor, FASTER_MAX)
    if factor <= 1:
        return model
    rates = {(source.name, "rate_per_ms") for source in model.flow.sources}
    origins: dict[tuple[str, str], Origin] = {
        number: "measured" if number in rates else origin for number, origin in model.origins.items()
    }
    return replace(model, flow=model.flow.faster(factor), origins=origins)
