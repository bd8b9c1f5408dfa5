"""What a plan rests on and what it costs the network, taken down."""

import math

import pytest

from placement.model import Flow, Sink, Source, Task, chain
from services.host.cell.plan_grounds import grounds, network_bytes

FLOW: Flow = chain(
    "talk",
    Source("in", "a", 0.5, message_bytes=200.0),
    (Task("talk.1", 1.0, batch=0.5, output_bytes=100.0), Task("talk.2", 1.0, output_bytes=10.0)),
    Sink("out", "b"),
)
WAYS_MS = {("a", "b"): 10.0, ("b", "a"): 10.0, ("a", "c"): 4.0, ("c", "b"): 6.0}


def way_ms(tail: str, head: str) -> float:
    return WAYS_MS.get((tail, head), 0.0)


def test_the_network_cost_is_bytes_a_second_times_delay_over_the_edges() -> None:
    """100 bytes a ms leave the source, 25 the first task, 2.5 the last: what travels far should be little."""
    assert 100 * 10 == pytest.approx(network_bytes(FLOW.graph, {0: "b", 1: "b"}, way_ms))
    assert 2.5 * 10 == pytest.approx(network_bytes(FLOW.graph, {0: "a", 1: "a"}, way_ms))
    assert 100 * 4 + 25 * 6 == pytest.approx(network_bytes(FLOW.graph, {0: "c", 1: "b"}, way_ms))


def test_grounds_name_what_was_measured_and_only_what_matters_to_the_plan() -> None:
    """Hosts and ways that it does not use may change as they like."""
    found = grounds(FLOW, {0: "c", 1: "b"}, way_ms, busy={"a": 0.5, "c": 0.25}, now_cost_ms=12.0)
    assert {
        "in.rate_per_s": 500.0,
        "a -> c.delay_ms": 4.0,
        "c -> b.delay_ms": 6.0,
        "c.busy_share": 0.25,
        "now.cost_ms": 12.0,
    } == found
    assert "now.cost_ms" not in grounds(FLOW, {0: "c", 1: "b"}, way_ms, busy={}, now_cost_ms=math.nan)
