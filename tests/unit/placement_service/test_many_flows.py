"""How much a look takes of the registry: that grows with what there is, not with its square."""

from typing import Any

import msgspec
import pytest

from services.host.cell.carried_out import compared
from services.placement.situation import KnownFlow
from services.registry.flow_table import FlowTable
from services.registry.view import RegistryView
from tests.unit.cell.ground import placed
from tests.unit.placement_service.conftest import TEXT
from tests.unit.placement_service.desk import Desk
from tests.unit.registry_messages import committed_plan, move_record
from topics.flow.file import parse_graph
from topics.messages import FlowRevision


class Walked(FlowTable[Any, Any]):
    """A table that counts how often somebody goes through all of it."""

    walks = 0

    def items(self) -> Any:
        self.walks += 1
        return super().items()

    def values(self) -> Any:
        self.walks += 1
        return super().values()


def known_flow(name: str) -> KnownFlow:
    text = TEXT.replace("shop", name)
    graph = parse_graph(text)
    about: dict[str, Any] = {"flow": name, "text": text, "delivery": "at_least_once", "changed_ms": 0}
    revision = FlowRevision(revision=1, state="submitted", **about)
    return KnownFlow(revision, graph, {graph.segments[0].id: 2}, {"orders": 2})


def withdrawn(known: KnownFlow) -> KnownFlow:
    revision = msgspec.structs.replace(known.revision, state="withdrawn", revision=2)
    return KnownFlow(revision, known.graph, known.partitions, known.topics)


def walks(count: int) -> int:
    """In a look at so many flows that run, and as many that have ended."""
    desk, flows = Desk(), {f"f{number}": known_flow(f"f{number}") for number in range(2 * count)}
    for name, known in flows.items():
        desk.view.take(known.revision)
        desk.view.take(committed_plan(name, {known.graph.segments[0].id: "a"}, hash=f"hash-{name}"))
    desk.look_at(flows)
    flows |= {name: withdrawn(flows[name]) for name in sorted(flows)[:count]}
    for known in flows.values():
        desk.view.take(known.revision)
    desk.look_at(flows)
    desk.view.placements = table = Walked(desk.view.placements)
    assert [] == desk.look_at(flows)
    return table.walks


def test_a_look_goes_through_the_registry_as_often_for_many_flows_as_for_few() -> None:
    """Ten times a second: a look that went through it for each flow outlasted the lease under which it decides."""
    assert walks(2) == walks(20)


@pytest.mark.parametrize("host", ["b", "c"])
def test_who_asks_how_one_flow_runs_does_not_go_through_all_others(host: str) -> None:
    """Each leader asks for its flow whenever anything changes, and moves are kept for a week."""
    view, plan = RegistryView(), committed_plan("talk", {"s": "c"}, hash="new")
    view.take(placed("s", 0, host))
    view.take(move_record("talk", "s", target="c", plan="new", phase="abandoned", trouble="too dear"))
    view.placements = placements = Walked(view.placements)
    view.moves = moves = Walked(view.moves)
    news = compared(view, plan, "auto", live={"b", "c"}, now_ms=10_000)
    assert (host == "c") is (news is None)
    assert [0, 0] == [placements.walks, moves.walks]
