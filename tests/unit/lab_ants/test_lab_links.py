"""What ants place where links have queues is asked about: nobody booked the wires. And no query vanishes uncounted."""

from types import SimpleNamespace

import pytest

from placement.evaluator_incremental import Ledger
from placement.model import Host, Link, Placement, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.queueing import IDLE
from placement.simulator.queries import Shape
from services.lab.experiments import quality
from services.lab.samples import rows


@pytest.mark.parametrize(("host", "broken"), [("a", 0.0), ("b", 1.0)])
def test_a_wire_that_ants_fill_is_a_row(monkeypatch: pytest.MonkeyPatch, host: str, broken: float) -> None:
    """The task leaves out nine of ten messages: beside the producer they fit on the wire, behind it they don't."""
    network = RoutedNetwork((Host("a"), Host("b")), (Link("a", "b", 1.0, 100.0),))
    source = Source("in", "a", 0.1, message_bytes=1_000.0)
    flow = chain("query", source, (Task("t", 1.0, batch=0.1, output_bytes=1_000.0),), Sink("out", "b"))
    wires = (IDLE,) * len(network.wire_delays_ms)
    placement = Placement.of({("query", "t"): host})
    truth = Ledger.of(Problem(network, (flow,)), placement)

    def placed(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(
            truth=truth, placement=lambda: placement, latency_ms=lambda name: truth.latency(name).mean_ms
        )

    monkeypatch.setattr(quality, "place_alone", placed)
    case = quality._Case(network, flow, Shape.CHAIN, (IDLE, IDLE), wires)
    samples, _ = quality._compare(case, seed=1, where="links", rules=("ants",))
    told = {row.measure: row.value for row in rows(samples)}
    assert broken == told["ants, links: rules that placements break"]


@pytest.mark.parametrize(("service_vwu", "left_out"), [(1.0, 0.0), (20.0, 1.0)])
def test_a_query_for_which_no_placement_has_room_is_counted(service_vwu: float, left_out: float) -> None:
    """It was dropped without a row: whoever reads of no failures must see how many were asked."""
    network = RoutedNetwork((Host("a"), Host("b")), (Link("a", "b", 1.0),))
    flow = chain("query", Source("in", "a", 0.1), (Task("t", service_vwu),), Sink("out", "b"))
    case = quality._Case(network, flow, Shape.CHAIN, (IDLE, IDLE))
    samples, _ = quality._compare(case, seed=1, where="empty", rules=())
    told = {row.measure: row.value for row in rows(samples)}
    assert left_out == told["empty: queries left out, no placement has room"]
    assert 0.0 == told["empty: queries left out, the search stopped before it found anything"]
