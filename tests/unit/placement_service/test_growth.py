"""Source topics that grow while their flows run: the new partitions are placed, all hear of it, and it is told once."""

from typing import Any

import msgspec
import pytest

from services.placement.growth import grow
from services.placement.situation import KnownFlow, Situation
from services.registry.view import RegistryView
from tests.unit.placement_service.conftest import SEGMENT, Office, decisions, moves, placements
from tests.unit.sharing.talks import run, segment, talk, tap
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph
from topics.messages import Decision, Placement

BESIDES: dict[str, Any] = {"partitions": None}
"""As many partitions as the topic has."""
SERVER, TAPPER = talk("f", **BESIDES), talk("g", **BESIDES)


def grown(office: Office, partitions: int) -> list[Any]:
    office.partitions = partitions
    return office.look()


def test_new_partitions_start_beside_the_others_and_all_hear_of_it_at_once(office: Office) -> None:
    """Nobody read them, and the flow seemed to run."""
    office.running_on("b")
    written = grown(office, 5)
    assert [("b", 1)] * 5 == office.owners()
    assert [{"orders": 5}] * 5 == [each.source_partitions for each in placements(written)]
    assert {"hash-1"} == {each.plan for each in placements(written)}
    assert [("grown", "topic orders has 5 partitions now: 3 more are read")] == decisions(written)
    assert [] == office.look(), "it is told once"


@pytest.mark.parametrize("policy", ["approve", "freeze"])
def test_it_is_no_move_so_no_policy_stands_in_the_way(office: Office, policy: str) -> None:
    """Records would wait for a person; but a plan that has no approval yet gains nothing by it."""
    office.running_on("b")
    office.rule("flow", "shop", policy)
    office.plan("c", epoch=2)
    written = grown(office, 3)
    assert [("b", 1)] * 3 == office.owners()
    assert [] == moves(written)


def test_a_new_partition_never_goes_to_a_host_that_is_lost_or_to_be_left(office: Office) -> None:
    """It goes to another one, and waits while there is none; what runs is not told to expect it meanwhile."""
    office.running_on("b")
    office.live = set()
    assert [] == placements(grown(office, 3))
    office.live = {"b", "c"}
    office.rule("host", "b", "drained")
    assert ("c", 1) in [(each.host, each.epoch) for each in placements(office.look())]


def test_a_partition_that_was_given_up_once_goes_on_with_its_epoch(office: Office) -> None:
    """Whoever ran it then must not take it for its own."""
    office.running_on("b")
    given_up = msgspec.structs.replace(office.view.placements[SEGMENT, 0], partition=2, host=None, epoch=7)
    office.view.take(given_up)
    grown(office, 3)
    assert [("b", 1), ("b", 1), ("b", 8)] == office.owners()


def test_what_was_placed_before_anything_was_counted_learns_the_counts_in_silence(office: Office) -> None:
    """An earlier version of the service wrote it."""
    office.running_on("b")
    for slot, each in office.view.placements.items():
        office.view.placements[slot] = msgspec.structs.replace(each, source_partitions={})
    written = office.look()
    assert [{"orders": 2}] * 2 == [each.source_partitions for each in written]


def known(view: RegistryView, graph: FlowGraph, partitions: int, **topics: int) -> KnownFlow:
    counts = {each.id: each.partitions or partitions for each in graph.segments}
    return KnownFlow(view.flows[graph.spec.name], graph, counts, topics)


def look(view: RegistryView, *flows: KnownFlow) -> list[Any]:
    named = {each.revision.flow: each for each in flows}
    return [message for _, message in grow(Situation(view, 9, frozenset({"a"}), {}, named), by="p")]


def test_the_narrower_of_two_topics_may_grow_without_a_new_task(office: Office) -> None:
    """Tasks that are there get another input each: they must hear of it as well."""
    flow = Flow("u")
    left, right = (flow.source(name, topic=name, key="id") for name in ("left", "right"))
    flow.union(left, right, name="both").sink("out", topic="out")
    graph, view = flow.graph(), RegistryView()
    run(view, graph)
    entry = next(iter(view.placements.values()))
    for number in range(4):
        counts = {"left": 2, "right": 4}
        view.take(msgspec.structs.replace(entry, partition=number, source_partitions=counts))
    written = look(view, known(view, graph, 4, left=4, right=4))
    assert [{"left": 4, "right": 4}] * 4 == [each.source_partitions for each in placements(written)]
    (told,) = (each for each in written if isinstance(each, Decision))
    assert "topic left has 4 partitions now: 2 more are read" == told.why


def shared() -> RegistryView:
    """f runs, g reads what it counts; both know of one partition."""
    view = RegistryView()
    run(view, SERVER)
    run(view, TAPPER, tap(TAPPER, SERVER), server=SERVER)
    for slot, each in view.placements.items():
        view.placements[slot] = msgspec.structs.replace(each, source_partitions={"clicks": 1})
    return view


def fed(written: list[Any]) -> set[tuple[str, int]]:
    return {(each.segment, each.partition) for each in written if isinstance(each, Placement)}


@pytest.mark.parametrize("state", ["submitted", "withdrawn"])
def test_who_is_read_grows_with_its_reader_also_when_its_own_flow_has_ended(state: Any) -> None:
    """The reader expects the new writers from then on; nobody else would start them."""
    view = shared()
    view.take(
        msgspec.structs.replace(view.flows["f"], revision=2, state=state) if state == "withdrawn" else view.flows["f"]
    )
    written = look(view, known(view, SERVER, 2, clicks=2), known(view, TAPPER, 2, clicks=2))
    feeder, reader = segment(SERVER, "kept"), segment(TAPPER, "totals")
    assert {(feeder, 1), (reader, 0)} <= fed(written)
    assert {("clicks", 2)} == {each for one in placements(written) for each in one.source_partitions.items()}


def test_a_reader_waits_until_those_it_reads_are_counted() -> None:
    """It would expect writers that nobody starts."""
    view = shared()
    assert set() == fed(look(view, known(view, TAPPER, 2, clicks=2)))
    assert set() == fed(look(view, known(view, TAPPER, 2, clicks=2), known(view, SERVER, 1, clicks=1)))
    assert set() == fed(look(view, known(view, TAPPER, 2, clicks=2), known(view, SERVER, 1)))
