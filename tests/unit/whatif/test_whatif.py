"""Questions to recorded measurements: what would be done, and what it would cost."""

from typing import Any

import msgspec
import pytest

from placement.model import Host
from services.registry.view import RegistryView
from services.whatif.past import as_of
from services.whatif.question import answer
from services.whatif.recorded import Recorded
from services.whatif.world import drained_hosts, faster, world_of
from tests.unit.registry_messages import move_record, registration
from topics.flow.file import parse_graph
from topics.messages import (
    FlowRevision,
    LinkMetrics,
    Moments,
    MoveRecord,
    OperatorMetrics,
    Placement,
    Policy,
    Sketch,
)

TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user, at: a}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results, at: a}
"""
SEGMENT = parse_graph(TEXT).segments[0].id


def row(second: int) -> OperatorMetrics:
    """A thousand records a second, half a millisecond each: half of a host of capacity 1."""
    work = Moments(count=1_000, sum=500_000.0, sum_sq=5e8)
    return OperatorMetrics(
        host="a",
        flow="shop",
        segment=SEGMENT,
        operator="large",
        partition=0,
        second=second,
        arrivals=1_000,
        gaps_us=Moments(count=1_000, sum=1e6, sum_sq=2e9),
        batch=Moments(count=1_000, sum=1_000.0, sum_sq=1_000.0),
        service_us=work,
        wait_us=Moments(count=1_000, sum=0.0, sum_sq=0.0),
        outputs=1_000,
        lag=0,
        bytes_in=1_000,
        bytes_out=1_000,
        state_bytes=0,
        late=0,
        dropped=0,
        dead_letters=0,
    )


@pytest.fixture
def view() -> RegistryView:
    made = RegistryView()
    for name in ("a", "b"):
        made.take(registration(name))
    made.take(
        FlowRevision(flow="shop", revision=1, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=0)
    )
    made.take(
        Placement(
            segment=SEGMENT, partition=0, epoch=1, host="a", flow="shop", revision=1, operators=("large",), placed_ms=0
        )
    )
    return made


def recorded_with(trip_ms: float) -> Recorded:
    """A round trip from a to b and back of so long, of which a hop through the broker takes 6 ms."""
    trip, hop = Sketch.of([trip_ms]), Sketch.of([6.0])
    links = (
        LinkMetrics(host="a", peer="a", second=105, sent=1, lost=0, round_trip_ms=hop),
        LinkMetrics(host="a", peer="b", second=105, sent=1, lost=0, round_trip_ms=trip),
        LinkMetrics(host="b", peer="a", second=105, sent=1, lost=0, round_trip_ms=trip),
    )
    return Recorded(100, 130, tuple(row(second) for second in range(100, 130)), links)


@pytest.fixture
def recorded() -> Recorded:
    return recorded_with(10.0)


def run_on(view: RegistryView, host: str) -> RegistryView:
    view.take(msgspec.structs.replace(view.placements[SEGMENT, 0], host=host, epoch=2, placed_ms=110_000))
    return view


def moved(origin: str, target: str, since_ms: int, phase: Any = "done") -> MoveRecord:
    begun = {"move": f"m-{since_ms}", "proposed_ms": since_ms - 10, "since_ms": since_ms}
    return move_record("shop", SEGMENT, origin=origin, target=target, phase=phase, **begun)


def test_without_a_change_a_flow_that_is_well_placed_stays(view: RegistryView, recorded: Recorded) -> None:
    """Beside its source and its sink there is no better place; measured rates and delays are in it."""
    world = world_of(view, recorded)
    (flow,) = answer(world, world).flows
    assert ((), flow.latency_now_ms) == (flow.moves, flow.latency_ms)
    assert 2.0 == pytest.approx(world.delays.delay_ms("a", "b"), abs=0.5)
    assert 2 * world.delays.hop_ms == pytest.approx(world.hops_ms["shop"]), "to its segment, and from there to the sink"
    assert flow.latency_ms > world.hops_ms["shop"]
    assert 1.0 == pytest.approx(world.flows["shop"].sources[0].rate_per_ms, rel=0.1)


def test_what_a_lost_host_ran_would_go_elsewhere(view: RegistryView, recorded: Recorded) -> None:
    """Also its source and sink, which stand where they can."""
    (flow,) = answer(world_of(view, recorded), world_of(view, recorded, without=["a"])).flows
    assert ((SEGMENT, "a", "b"),) == flow.moves


def test_a_drained_host_takes_nothing_and_keeps_nothing(view: RegistryView, recorded: Recorded) -> None:
    """It was the first place that came to mind for what another one would lose. Sources that stand there stay."""
    view.take(registration("c"))
    view.take(msgspec.structs.replace(view.placements[SEGMENT, 0], partition=1, host="c"))
    view.take(Policy(subject="host", name="b", policy="drained", changed_ms=0))
    now, drained = world_of(view, recorded), drained_hosts(view)
    (flow,) = answer(now, world_of(view, recorded, without=["a"], drained=drained)).flows
    assert ((SEGMENT, "a", "c"),) == flow.moves
    (flow,) = answer(now, world_of(view, recorded, drained={"a", "c"})).flows
    assert ((SEGMENT, "a", "b"),) == flow.moves
    assert "a" == world_of(view, recorded, drained={"a"}).flows["shop"].sources[0].host


def test_a_rate_that_no_host_can_take_is_told(view: RegistryView, recorded: Recorded) -> None:
    """Three times half a host is more than a host; one of twice the capacity takes it."""
    now = world_of(view, recorded)
    assert "shop" in str(answer(now, faster(now, "shop", 3.0)).infeasible)
    larger = faster(world_of(view, recorded, more=[Host("c", 2.0, region="r")]), "shop", 3.0)
    (flow,) = answer(now, larger).flows
    assert ((SEGMENT, "a", "c"),) == flow.moves


def test_ants_move_what_is_worth_it_and_the_same_seed_gives_the_same_answer(view: RegistryView) -> None:
    """On b every record goes there and back: seventeen milliseconds each way."""
    world = world_of(run_on(view, "b"), recorded_with(40.0))
    found = answer(world, world, seed=7)
    (flow,) = found.flows
    assert ((SEGMENT, "b", "a"),) == flow.moves
    assert flow.latency_now_ms is not None
    assert flow.latency_ms is not None
    assert flow.latency_now_ms - flow.latency_ms == pytest.approx(34.0, abs=2.0)
    assert found == answer(world, world, seed=7)


def test_ants_stay_where_a_gain_is_too_small_though_from_above_it_is_one(view: RegistryView) -> None:
    """Leaders do not move for less than they can measure; who starts from nothing need not care."""
    world = world_of(run_on(view, "b"), recorded_with(6.5))
    (flow,) = answer(world, world).flows
    assert () == flow.moves
    assert flow.central is not None
    assert ((SEGMENT, "b", "a"),) == flow.central.moves


def test_what_no_host_can_take_is_refused_by_the_ants_too(view: RegistryView, recorded: Recorded) -> None:
    """It is told for the flow, with no latency that nobody would see."""
    now = world_of(view, recorded)
    (flow,) = answer(now, faster(now, "shop", 3.0)).flows
    assert (None, None, ()) == (flow.latency_ms, flow.central, flow.moves)
    assert "no other place" in str(flow.refused)


def test_without_any_host_there_is_no_place_for_anything(view: RegistryView, recorded: Recorded) -> None:
    """It is said, as any other lack of room."""
    found = answer(world_of(view, recorded), world_of(view, recorded, without=["a", "b"]))
    assert ((), "no host would be left") == (found.flows, found.infeasible)


def test_the_past_is_todays_registry_with_moves_taken_back(view: RegistryView) -> None:
    """From a to b and back to a and on to b: at each time it ran where the moves on record say."""
    for move in (moved("a", "b", 105_000), moved("b", "a", 107_000), moved("a", "b", 110_000)):
        view.take(move)
    view.take(moved("b", "c", 112_000, phase="rolled_back"))
    run_on(view, "b")
    for at_ms, host in ((100_000, "a"), (106_000, "b"), (108_000, "a"), (120_000, "b")):
        then, notes = as_of(view, at_ms)
        assert (host, []) == (then.placements[SEGMENT, 0].host, notes), at_ms
    assert "b" == view.placements[SEGMENT, 0].host, "the registry itself stays as it is"


def test_what_no_move_on_record_explains_is_told(view: RegistryView) -> None:
    """A lost host, or a person's hand: nobody wrote down where it ran before."""
    run_on(view, "b")
    then, (note,) = as_of(view, 100_000)
    assert ("b", True) == (then.placements[SEGMENT, 0].host, note.startswith(f"{SEGMENT}/0 is taken for where it runs"))
    view.take(moved("a", "c", 105_000))
    assert 1 == len(as_of(view, 100_000)[1]), "the move led to c, and it is on b"
    newer = FlowRevision(
        flow="shop", revision=2, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=150_000
    )
    view.take(newer)
    assert "flow shop is taken as it is today: it has changed since" in as_of(view, 120_000)[1]
