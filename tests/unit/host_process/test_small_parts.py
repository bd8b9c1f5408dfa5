"""The small parts of a host: its arguments, calibration, topics, and the demo's packets."""

from itertools import islice

import pytest

from services.demo.furnish import FLOW, FLOW_FILE
from services.demo.packets import packets
from services.embedded.furniture import DEMO_SOURCE
from services.host.calibration import calibrate
from services.host.changelog import changelog_topics
from services.host.main import parse
from services.host.plan_topics import declarations
from services.host.seat import is_passing
from services.host.segment_plan import plan_segment
from services.host.writer import WriteError
from services.operators.wiring import segment_program
from services.registry.decisions import decision
from services.settings import SettingsError
from topics.catalogue import DECISIONS
from topics.flow.file import load_graph, parse_graph

GIVEN = ["--name", "edge-1", "--region", "r1", "--bootstrap", "x:1"]


def test_a_given_capacity_is_taken_and_none_is_measured() -> None:
    """Who knows their machine better than a trial says so."""
    assert 2.5 == parse([*GIVEN, "--capacity", "2.5"])[0].capacity
    assert 0.05 < parse(GIVEN)[0].capacity < 50


@pytest.mark.parametrize("capacity", ["0", "-1", "nan", "inf", "fast"])
def test_an_impossible_capacity_is_refused(capacity: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A registration with it would be garbage to every reader."""
    with pytest.raises(SystemExit):
        parse([*GIVEN, "--capacity", capacity])
    assert "--capacity" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "e" * 101])
def test_a_name_that_would_not_fit_is_refused(name: str) -> None:
    """Two names and a word make the name of a figure in decisions, which no reader would take if it were longer."""
    given = ["--capacity", "1", *GIVEN[2:]]
    with pytest.raises(SettingsError, match=f"{len(name)} characters"):
        parse(["--name", name, *given])
    _, said = decision("weighed", "", "", by="e", now_ms=1, evidence={f"{'e' * 100} -> {'f' * 100}.delay_ms": 1.0})
    assert DECISIONS.codec.encode(said, topic=DECISIONS.name)
    assert "e" * 100 == parse(["--name", "e" * 100, *given])[0].name


@pytest.mark.parametrize(("given", "memory_bytes"), [([], 512 << 20), (["--function-memory", "96"], 96 << 20)])
def test_a_host_says_what_the_processes_of_functions_may_take(given: list[str], memory_bytes: int) -> None:
    """A model that a function loads may need more, a small machine has less."""
    params, _, _ = parse([*GIVEN, "--capacity", "1", *given])
    assert memory_bytes == params.isolation.memory_bytes


def test_too_little_memory_for_a_function_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Its process could not even start, and every flow with a function would park."""
    with pytest.raises(SystemExit):
        parse([*GIVEN, "--function-memory", "63"])
    assert "--function-memory" in capsys.readouterr().err


def test_calibration_is_quick_and_steady() -> None:
    """Two starts of one host should register nearly the same capacity, on a busy machine too."""
    one, other = sorted((calibrate(), calibrate()))
    assert other / one < 3


def test_a_stateful_segment_needs_edges_state_and_set_aside_topics(flow_text: str) -> None:
    """A topic that is missing when the first record comes would fail the task."""
    graph = parse_graph(flow_text)
    segment = graph.segments[1]
    plan = plan_segment(graph, segment.id, {"orders": 3, "results": 2})
    changelogs = changelog_topics(graph, segment_program(graph, segment))
    declared = {each.name: each.partitions for each in declarations(plan, changelogs.values())}
    (edge,) = (each.topic for each in plan.inputs)
    tasks = plan.partitions
    assert {
        "stig.flow.shop.dead-letters": 1,
        "stig.flow.shop.late": 1,
        "stig.flow.shop.landmarks": 1,
        edge: tasks,
        changelogs["pages"]: tasks,
        plan.snapshots: tasks,
    } == declared


def test_outages_pass_and_faults_of_our_own_do_not() -> None:
    """A broker that restarts must not park what waits for it; what fails by itself must not be tried for ever."""
    from aiokafka.errors import InvalidProducerEpoch, KafkaConnectionError, RequestTimedOutError

    def caused_by(cause: Exception) -> WriteError:
        error = WriteError("x")
        error.__cause__ = cause
        return error

    assert is_passing(KafkaConnectionError("down"))
    assert is_passing(caused_by(RequestTimedOutError()))
    assert not is_passing(caused_by(InvalidProducerEpoch()))
    assert not is_passing(ValueError("bug"))


def test_the_demo_flow_compiles_and_reads_the_demo_topic() -> None:
    """`make up` shows it first."""
    graph = load_graph(FLOW_FILE)
    assert (FLOW, [DEMO_SOURCE.name]) == (graph.spec.name, [source.topic for source in graph.spec.sources])


def test_packets_are_the_same_for_the_same_seed() -> None:
    """A demo that can't be told again can't be discussed."""
    first, again, other = (list(islice(packets(seed), 5_000)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(0 < packet["bytes"] <= 1_500 for packet in first)
