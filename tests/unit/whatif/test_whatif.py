"""Questions to recorded measurements: what would be done, and what it would cost."""

import pytest

from placement.model import Host
from services.registry.view import RegistryView
from services.whatif.question import answer
from services.whatif.recorded import Recorded
from services.whatif.world import faster, world_of
from topics.flow.file import parse_graph
from topics.messages import (
    FlowRevision,
    HostRegistration,
    LinkMetrics,
    Moments,
    OperatorMetrics,
    Placement,
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
        made.take(HostRegistration(host=name, region="r", capacity=1, address="x", boot_id="1", started_ms=0))
    made.take(
        FlowRevision(flow="shop", revision=1, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=0)
    )
    made.take(
        Placement(
            segment=SEGMENT, partition=0, epoch=1, host="a", flow="shop", revision=1, operators=("large",), placed_ms=0
        )
    )
    return made


@pytest.fixture
def recorded() -> Recorded:
    trip, hop = Sketch.of([10.0]), Sketch.of([6.0])
    links = (
        LinkMetrics(host="a", peer="a", second=105, sent=1, lost=0, round_trip_ms=hop),
        LinkMetrics(host="a", peer="b", second=105, sent=1, lost=0, round_trip_ms=trip),
        LinkMetrics(host="b", peer="a", second=105, sent=1, lost=0, round_trip_ms=trip),
    )
    return Recorded(100, 130, tuple(row(second) for second in range(100, 130)), links)


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


def test_a_rate_that_no_host_can_take_is_told(view: RegistryView, recorded: Recorded) -> None:
    """Three times half a host is more than a host; one of twice the capacity takes it."""
    now = world_of(view, recorded)
    assert "shop" in str(answer(now, faster(now, "shop", 3.0)).infeasible)
    larger = faster(world_of(view, recorded, more=[Host("c", 2.0, region="r")]), "shop", 3.0)
    (flow,) = answer(now, larger).flows
    assert ((SEGMENT, "a", "c"),) == flow.moves
