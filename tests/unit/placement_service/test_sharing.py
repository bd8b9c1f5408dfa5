"""Shared segments: what the conductor lets a plan tap, whom it lets go, and whom it keeps for others."""

from typing import Any

import msgspec
import pytest

from services.placement.situation import KnownFlow
from services.registry.changes import withdrawn
from tests.unit.placement_service.desk import Desk
from tests.unit.sharing.talks import plan, segment, submit, talk, tap
from topics.flow.graph import FlowGraph
from topics.messages import Decision, Placement

SERVER, TAPPER = talk("f"), talk("g")
SHARED, FEEDER, OWN = (segment(SERVER, operator) for operator in ("counts", "kept", "totals"))


class Office(Desk):
    """Of two flows, of which one can tap the other."""

    def __init__(self) -> None:
        super().__init__(live={"a", "b"})
        self.graphs = {"f": SERVER, "g": TAPPER}

    def look(self) -> list[Any]:
        return self.look_at(
            {
                name: KnownFlow(self.view.flows[name], graph, {each.id: 2 for each in graph.segments})
                for name, graph in self.graphs.items()
                if name in self.view.flows
            }
        )

    def place(self, graph: FlowGraph, *taps: Any, **more: Any) -> list[Any]:
        if graph.spec.name not in self.view.flows:
            submit(self.view, graph)
        self.view.take(plan(graph, *taps, **more))
        return self.look()

    def owned(self, segment_id: str) -> list[Placement]:
        return [each for each in self.view.placements.values() if each.segment == segment_id and each.host is not None]

    def refusals(self, told: list[Any]) -> list[str]:
        return [each.why for each in told if isinstance(each, Decision) and each.kind == "refused"]


@pytest.fixture
def office() -> Office:
    """f runs, and g reads what it counts."""
    each = Office()
    each.place(SERVER)
    each.place(TAPPER, tap(TAPPER, SERVER))
    return each


def test_a_tapped_segment_is_placed_nowhere_and_its_reader_knows_what_to_read(office: Office) -> None:
    """Only one copy runs; whoever builds the reader needs no other message."""
    assert {segment(TAPPER, "totals")} == {each.segment for each in office.view.placements.values() if each.flow == "g"}
    for each in office.owned(segment(TAPPER, "totals")):
        assert ["stig.flow.f.edge.counts.TO.totals.0"] == [edge.topic for edge in each.reads]


def test_what_is_read_and_all_that_feeds_it_say_so(office: Office) -> None:
    """In the same transaction: a host that hears of the withdrawal knows at once what must go on."""
    assert {SHARED: {("g",)}, FEEDER: {("g",)}, OWN: {()}} == {
        each: {entry.serves for entry in office.owned(each)} for each in (SHARED, FEEDER, OWN)
    }
    assert all(each.promise is not None for each in office.owned(SHARED))
    assert [] == office.look(), "and a second look changes nothing"


def test_a_withdrawn_flow_goes_on_only_as_far_as_others_read_it(office: Office) -> None:
    """Its sinks stop; when the last reader has gone, all of it is gone."""
    epochs = {slot: each.epoch for slot, each in office.view.placements.items()}
    submit(office.view, SERVER, revision=2, state="withdrawn")
    office.look()
    assert ([], 2, 2) == (office.owned(OWN), len(office.owned(SHARED)), len(office.owned(FEEDER)))
    assert epochs[SHARED, 0] == office.view.placements[SHARED, 0].epoch, "what goes on is not disturbed"
    submit(office.view, TAPPER, revision=2, state="withdrawn")
    office.look()
    office.look()
    assert {} == {slot: each for slot, each in office.view.placements.items() if each.host is not None}


def test_the_end_of_a_reader_leaves_the_serving_flow_alone(office: Office) -> None:
    """It is counted no longer, and that is all."""
    submit(office.view, TAPPER, revision=2, state="withdrawn")
    office.look()
    assert {()} == {each.serves for each in office.owned(SHARED)}
    assert {None} == {each.promise for each in office.owned(SHARED)}
    assert 2 == len(office.owned(OWN))


def test_counts_survive_another_instance(office: Office) -> None:
    """They follow from the registry, and nothing is kept in memory."""
    office.another_instance()
    submit(office.view, SERVER, revision=2, state="withdrawn")
    office.look()
    assert 2 == len(office.owned(SHARED))


def test_what_was_ended_in_the_moment_in_which_it_was_tapped_is_raised_again(office: Office) -> None:
    """The command that withdraws may have read the registry before the first reader was written."""
    for each in office.owned(SHARED):
        cleared = msgspec.structs.replace(each, host=None, epoch=each.epoch + 1, serves=(), promise=None)
        office.view.take(cleared)
    submit(office.view, SERVER, revision=2, state="withdrawn")
    office.look()
    assert [("g",), ("g",)] == [each.serves for each in office.owned(SHARED)]


def test_a_lost_host_takes_nothing_from_the_readers_of_a_withdrawn_flow(office: Office) -> None:
    """What serves is placed anew though its own flow has no leader any more."""
    submit(office.view, SERVER, revision=2, state="withdrawn")
    office.look()
    office.lost_since_ms = {"a": office.now_ms}
    office.now_ms += 1_000_000
    office.look()
    assert {"b"} == {each.host for each in office.owned(SHARED)}


def test_a_flow_that_is_ending_serves_no_newcomer() -> None:
    """It would have to go on for a flow that came after its end."""
    office = Office()
    office.place(SERVER)
    submit(office.view, SERVER, revision=2, state="withdrawn")
    told = office.place(TAPPER, tap(TAPPER, SERVER))
    assert ["flow f does not run as it was first submitted, so it serves no newcomer"] == office.refusals(told)
    assert [] == office.owned(segment(TAPPER, "totals"))


def test_a_flow_that_ran_by_itself_never_begins_to_tap() -> None:
    """It would read from the beginning what it has counted already."""
    office = Office()
    office.place(SERVER)
    office.place(TAPPER)
    told = office.place(TAPPER, tap(TAPPER, SERVER), epoch=2)
    assert ["what a flow reads of others can't change once it has run under its name"] == office.refusals(told)


def test_a_flow_that_tapped_never_begins_to_run_by_itself(office: Office) -> None:
    """Not even after it was withdrawn: what it remembers belongs to the other flow's records."""
    submit(office.view, TAPPER, revision=2, state="withdrawn")
    office.look()
    submit(office.view, TAPPER, revision=3)
    told = office.place(TAPPER, epoch=2, revision=3)
    assert ["what a flow reads of others can't change once it has run under its name"] == office.refusals(told)
    office.place(TAPPER, tap(TAPPER, SERVER), epoch=3, revision=3)
    assert 2 == len(office.owned(segment(TAPPER, "totals")))


def test_a_plan_must_place_just_what_nobody_serves(office: Office) -> None:
    """Else it was made for something else."""
    wrong = plan(TAPPER, tap(TAPPER, SERVER), epoch=2)
    office.view.take(msgspec.structs.replace(wrong, hosts={**wrong.hosts, segment(TAPPER, "kept"): "a"}))
    assert "or another one serves it" in office.refusals(office.look())[0]


def test_a_revision_that_slipped_through_does_not_take_from_others_what_they_read(office: Office) -> None:
    """It was submitted in the moment in which the first reader came; its plan is refused by name."""
    office.graphs["f"] = changed = talk("f", where="size > 7")
    submit(office.view, changed, revision=2)
    (why,) = office.refusals(office.place(changed, epoch=2, revision=2))
    assert "which g read; submit the flow as it was, or withdraw g" in why
    assert [("g",)] * 4 == [each.serves for each in (*office.owned(SHARED), *office.owned(FEEDER))]


def test_a_served_flow_that_is_submitted_again_just_goes_on(office: Office) -> None:
    """With its sinks, and still serving."""
    submit(office.view, SERVER, revision=2, state="withdrawn")
    office.look()
    submit(office.view, SERVER, revision=3)
    office.place(SERVER, epoch=2, revision=3)
    assert (2, {("g",)}) == (len(office.owned(OWN)), {each.serves for each in office.owned(SHARED)})


def test_the_command_that_withdraws_leaves_the_same_as_the_conductor(office: Office) -> None:
    """Whoever is quicker: what others read goes on."""
    for _, message in withdrawn(office.view, "f", now_ms=9):
        office.view.take(message)
    assert (2, []) == (len(office.owned(SHARED)), office.owned(OWN))
    before = dict(office.view.placements)
    office.look()
    assert before == office.view.placements
