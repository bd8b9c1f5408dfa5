"""Task reuse end to end: an equal query taps a running one, and survives whatever becomes of that."""

from dataclasses import replace
from random import Random

import pytest

from placement.ants.params import IMPROVED
from placement.evaluator import evaluate
from placement.leader_events import Lingers, ServingEnds, Withdrawn
from placement.leader_params import IMPROVED_LEADER
from placement.model import Problem, Sink, Source, violations
from placement.simulator.body import Body
from placement.simulator.faults import lose_host, return_host
from placement.simulator.invariants import host_faults, rest_faults, system_faults
from placement.simulator.queries import QueryParams, Shape, background_load, known, random_query, variant
from placement.simulator.registry import unserved_taps
from placement.simulator.severed import cut_off
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub
from services.lab.chance import seeded

SMALL = TransitStubParams(transit_domains=1, transit_hosts=3, stubs=2, stub_hosts=5)


def pair(shape: Shape, *, reuse: bool = True) -> Body:
    """A query, and one that asks nearly the same for somebody else nearby."""
    rng = Random(f"reuse/{shape.value}")
    network = transit_stub(SMALL, rng=rng)
    first = known(random_query("first", 5, shape, stub_hosts(network), QueryParams(), rng=rng))
    ants = replace(IMPROVED, scouting=replace(IMPROVED.scouting, reuse=reuse))
    leaders = replace(IMPROVED_LEADER, budget_share=None)
    background = [background_load(0.3, host.capacity, QueryParams(), rng=rng) for host in network.hosts]
    body = Body(network, chance=seeded(1), ants=ants, leaders=leaders, background=background)
    body.acquaint()
    body.submit(first)
    body.run_until_settled()
    consumer = first.sinks[0].host
    nearby = [host.name for host in network.hosts if host.region == network.hosts[network.host_index[consumer]].region]
    body.submit(variant(first, "second", nearby, rng=rng))
    body.run_until_settled()
    body.run_for(1_000.0)  # activations arrive
    return body


def faults(body: Body) -> list[str]:
    return system_faults(body) + rest_faults(body) + [each for host in body.cells for each in host_faults(body, host)]


@pytest.mark.parametrize("shape", list(Shape))
def test_an_equal_query_taps_and_the_one_validator_and_evaluator_agree(shape: Shape) -> None:
    """Less work for the hosts, a placement that passes, and the latency that the evaluator finds."""
    body, alone = pair(shape), pair(shape, reuse=False)
    problem = Problem(body.network, tuple(leader.flow for leader in body.leaders.values()), body.background())
    placement = body.placement()
    assert placement.taps
    assert not violations(problem, placement)
    assert body.latency_ms("second") == pytest.approx(evaluate(problem, placement).of("second").latency.mean_ms)
    assert sum(load.rho for load in body.truth.loads) < sum(load.rho for load in alone.truth.loads)
    assert [] == faults(body)


@pytest.mark.parametrize("shape", list(Shape))
def test_a_withdrawn_flow_serves_until_its_tapper_has_found_another_way(shape: Shape) -> None:
    """The tapper never stops, and nothing of the withdrawn flow is left in the end."""
    body = pair(shape)
    body.withdraw("first")
    assert any(isinstance(decision, Lingers) for _, decision in body.decisions)
    for _ in range(2_000):
        body.run_for(10.0)
        assert body.latency_ms("second") < float("inf")
        assert [] == system_faults(body)
        if any(isinstance(decision, Withdrawn) for _, decision in body.decisions):
            break
    body.run_for(1_000.0)  # activations and releases arrive
    assert {"second"} == set(body.truth.running)
    assert [] == faults(body)


def test_a_flow_that_is_withdrawn_when_its_host_is_dead_already_was_not_ended_in_spite_of_its_tapper() -> None:
    """A random life (seed 12238): the host died, its user withdrew the flow, and only then the death was noticed."""
    body = pair(Shape.CHAIN)
    taps = {other for other, _ in body.truth.running["second"].taps.values()}
    assert {"first"} == taps
    ends = {end.host for name in ("first", "second") for end in _ends(body, name)}
    host = min(set(body.leaders["first"].running.values()) - ends)
    lose_host(body, host)
    body.run_for(200.0)
    body.withdraw("first")
    for _ in range(200):
        body.run_for(100.0)
        assert [] == system_faults(body)
    assert "first" not in body.leaders
    assert {"second"} == set(body.truth.running)


def _ends(body: Body, name: str) -> list[Source | Sink]:
    flow = body.leaders[name].flow
    return [*flow.sources, *flow.sinks]


def test_a_tap_follows_its_task_to_another_host() -> None:
    """The flow that serves moves as it likes; the tapper's plan stays valid."""
    body = pair(Shape.CHAIN)
    (offer,) = body.leaders["second"].standing.taps.values()
    full = body.background()[0]._replace(rate_per_ms=0.05, rho=0.9, square=60.0, burst=0.05, rate_squares=0.0025)
    body.set_background(offer.host, full)
    body.run_for(30_000.0)
    assert offer.host != body.placement().host_of(offer.flow, offer.task)
    for moved in body.leaders["second"].standing.taps.values():
        assert moved.host == body.placement().host_of(moved.flow, moved.task)
    assert [] == faults(body)


def test_a_tapper_places_itself_anew_when_the_source_that_serves_it_dies() -> None:
    """The serving flow ends with its leader. Its tapper has the same source, so it comes back only with that."""
    body = pair(Shape.FAN_IN)
    source = body.leaders["first"].flow.sources[1].host
    lose_host(body, source)
    body.run_for(5_000.0)
    return_host(body, source)
    body.run_for(60_000.0)
    assert {"first", "second"} == set(body.truth.running)
    assert [] == faults(body)


def test_a_tapper_hears_that_the_flow_which_serves_it_has_let_go() -> None:
    """The word itself may get lost on a cut way; until then the tapper is not fed, and not cut off either."""
    body = pair(Shape.CHAIN)
    serving = body.leaders["first"]
    serving.standing.let_go(serving.epoch)
    assert [("second", ServingEnds("first"))] == list(unserved_taps(body.leaders))
    assert [] == list(cut_off(body.leaders, body.network, set()))
