"""What the bench of a cluster makes of a herd of flows."""

from services.embedded.world_file import load_world
from services.lab.cluster.herd import Outcome, promised, rows, running_s, settled_s, still, texts_of
from services.lab.cluster.watch import slots_of
from services.lab.placements.measures import WORLD_FILE
from services.registry.view import RegistryView
from tests.unit.lab_cluster.messages import decided, placed, running, seen
from tests.unit.registry_messages import registration
from topics.flow.file import parse_graph

WORLD = load_world(WORLD_FILE)


def test_every_flow_of_the_herd_has_ten_operators_in_two_segments_of_one_partition() -> None:
    """As the target says; and the same seed gives the same herd."""
    texts = texts_of(WORLD, 5, seed=2)
    assert {10} == {len(parse_graph(text).operators) for text in texts.values()}
    assert {2} == {len(slots_of(text)) for text in texts.values()}
    assert texts == texts_of(WORLD, 5, seed=2) != texts_of(WORLD, 5, seed=3)


def test_a_flow_is_settled_when_all_of_it_has_an_owner_or_somebody_says_why_not() -> None:
    """A plan that was refused is followed by another one and settles nothing; who is placed in the end is placed."""
    slots = {
        "f": frozenset({("one", 0), ("two", 0)}),
        "g": frozenset({("three", 0)}),
        "h": frozenset({("four", 0)}),
        "i": frozenset({("five", 0)}),
    }
    course = [
        seen(1.0, placed("one", "a")),
        seen(1.5, decided("refused", "g")),
        seen(2.0, placed("two", "a")),
        seen(2.5, decided("refused", "h")),
        seen(3.0, placed("four", "a")),
        seen(4.0, decided("refused", "i", plan="p")),
        seen(5.0, placed("two", "b", epoch=2)),
    ]
    assert ({"f": 2.0, "h": 3.0}, {"g": 1.5}) == settled_s(course, slots)


def test_a_flow_runs_when_all_its_partitions_have_said_so() -> None:
    """Even if one of them is moving on by the time the last flow starts."""
    slots = {"f": frozenset({("one", 0), ("two", 0)}), "g": frozenset({("three", 0)})}
    course = [
        seen(1.0, running("one", "a")),
        seen(2.0, running("one", "a", state="draining")),
        seen(3.0, running("two", "a")),
        seen(4.0, running("three", "a", state="recovering")),
    ]
    assert {"f": 3.0} == running_s(course, slots)


def test_whoever_does_not_run_is_told_with_what_its_host_says() -> None:
    """Ten of a hundred flows did not run, and nobody could tell why."""
    view = RegistryView()
    view.take(placed("one", "a", epoch=2))
    view.take(running("one", "a", epoch=2, state="recovering"))
    view.take(placed("two", "b"))
    assert [
        "one[0] belongs to a at epoch 2, told is a at epoch 2 recovering",
        "three[0] belongs to nobody, told is nothing",
        "two[0] belongs to b at epoch 1, told is nothing",
    ] == still(view, {"f": frozenset({("one", 0), ("two", 0)}), "g": frozenset({("three", 0)})})


def _view(capacity: float, texts: dict[str, str]) -> RegistryView:
    view = RegistryView()
    view.take(registration("a", region="london", capacity=capacity))
    for name, text in texts.items():
        for segment, partition in slots_of(text):
            view.take(placed(segment, "a", partition=partition, flow=name))
    return view


def test_overbooking_is_judged_by_the_validator_on_what_was_promised() -> None:
    """One host for all is too little when it is slow, and enough when it is fast."""
    texts = texts_of(WORLD, 3, seed=1)
    overbooked, load = promised(_view(1e-4, texts), texts)
    assert (1, True) == (overbooked, load > 1.0)
    overbooked, load = promised(_view(10.0, texts), texts)
    assert (0, True) == (overbooked, 0.0 < load < 0.98)


def test_rows_tell_who_is_late_and_who_is_missing() -> None:
    """A flow that is neither placed nor refused must not vanish."""
    found = {
        row.measure: row.value
        for row in rows(Outcome({"f": 10.0, "g": 30.0}, {"h": 20.0}, 1, {"f": 40.0}, 0, 0.3, 5_000, 700))
    }
    assert 20.0 == found["herd: until a flow is placed or refused, median"]
    assert 30.0 == found["herd: until a flow is placed or refused, largest"]
    assert (1, 40.0) == (found["herd: flows that ran"], found["herd: until a flow runs, largest"])
    assert (2, 1, 1) == (
        found["herd: flows placed"],
        found["herd: flows refused with a reason"],
        found["herd: flows neither placed nor refused"],
    )
    assert (0, 0.3, 5_000) == (
        found["herd: hosts overbooked"],
        found["herd: load promised on the fullest host"],
        found["herd: messages on the ants' topics until then"],
    )
