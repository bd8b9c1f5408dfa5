"""A link dies and a flow that runs behind it is cut off, though its ends are not and its hosts live."""

import math
from dataclasses import replace

from placement.leader_events import GaveUp, Published
from placement.model import Flow, Host, Link, RoutedNetwork, Sink, Source, Task, chain
from placement.simulator.body import Body
from placement.simulator.faults import DETECTION_MS, lose_link, return_link
from placement.simulator.invariants import host_faults, rest_faults, system_faults
from placement.simulator.queries import known
from services.lab.chance import seeded

SLOW, FAST = 0.2, 4.0


def flow(name: str = "f", *, end: str = "c") -> Flow:
    """So thin that its budget pays for no round of ants in hours."""
    source = Source("in", "a", 0.01, message_bytes=1000.0)
    return known(chain(name, source, (Task("t", 4.0), Task("u", 4.0)), Sink("out", end)))


def placed(flow: Flow) -> Body:
    """a - b - c in a row, and the one fast host x behind b: all tasks go there."""
    hosts = (Host("a", SLOW), Host("b", SLOW), Host("c", SLOW), Host("x", FAST))
    links = (Link("a", "b", 5.0), Link("b", "c", 5.0), Link("b", "x", 1.0))
    body = Body(RoutedNetwork(hosts, links), chance=seeded(1))
    body.acquaint()
    body.submit(flow)
    body.run_until_settled()
    assert {"x"} == set(body.leaders[flow.name].running.values())
    return body


def faults(body: Body) -> list[str]:
    return [*(each for host in sorted(body.cells) for each in host_faults(body, host)), *system_faults(body)]


def test_a_flow_that_a_dead_link_cuts_off_runs_again_elsewhere() -> None:
    """Seed 106 of ants/faults: two tasks behind a dead link, and no round of ants that would have told."""
    body = placed(flow())
    lose_link(body, "b", "x")
    assert math.isinf(body.latency_ms("f"))
    body.run_for(DETECTION_MS + 2_000.0)
    assert math.isfinite(body.latency_ms("f"))
    return_link(body, "b", "x")
    body.run_for(60_000.0)
    assert [] == faults(body) + rest_faults(body), "and what x had promised has ended"


def test_no_ants_leave_for_a_flow_whose_ends_are_parted() -> None:
    """No place would help: they would only walk until they die, and the flow would pay for them for hours."""
    body = placed(flow(end="x"))
    told = len(body.decisions)
    lose_link(body, "b", "x")
    body.run_for(DETECTION_MS)
    hops = body.traffic.total_hops
    body.run_for(30_000.0)
    assert [] == [each for _, each in body.decisions[told:] if isinstance(each, Published | GaveUp)]
    assert body.traffic.total_hops - hops < 20
    return_link(body, "b", "x")
    body.run_for(DETECTION_MS)
    assert math.isfinite(body.latency_ms("f")), "it never stopped"


def test_a_flow_that_taps_what_was_cut_off_finds_another_way() -> None:
    """The flow that serves can't: its consumer is behind the dead link. Who taps it must not wait for it."""
    serving = flow(end="x")
    body = placed(serving)
    body.submit(replace(serving, name="g", sinks=(Sink("out", "c"),)))
    body.run_until_settled()
    assert {"f"} == body.leaders["g"].standing.tapped_flows
    lose_link(body, "b", "x")
    body.run_for(DETECTION_MS + 10_000.0)
    assert math.isinf(body.latency_ms("f"))
    assert math.isfinite(body.latency_ms("g"))
    return_link(body, "b", "x")
    body.run_for(60_000.0)
    assert [] == faults(body) + rest_faults(body)


def test_a_link_that_is_soon_back_moves_nothing() -> None:
    """Back before anybody noticed."""
    body = placed(flow())
    lose_link(body, "b", "x")
    body.run_for(DETECTION_MS / 2)
    return_link(body, "b", "x")
    body.run_for(20_000.0)
    assert 1 == body.leaders["f"].epoch
