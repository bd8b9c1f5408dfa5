"""Ants where every host reaches every other directly, as live: real delays differ by direction and break the triangle
inequality, so that the best host may be no neighbour of any host on the way (decision 55)."""

from dataclasses import replace
from random import Random
from statistics import fmean

import numpy as np
import pytest

from placement.leader_params import IMPROVED_LEADER
from placement.model import Host, OverlayNetwork, Problem, Sink, Source, Task, chain
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, background_load
from placement.simulator.scenario import live
from placement.simulator.scenarios import scenario_of
from placement.strategies import Exact
from services.lab.chance import seeded

HOSTS = 20
START, END, RELAY = 0, 9, HOSTS - 1
STILL = replace(IMPROVED_LEADER, watch=False)


def overlay(rng: Random) -> OverlayNetwork:
    """Hosts in a row, 10 ms apart, and one behind its far end that is near to all in one direction of each pair.

    From the start it is reached at once, and so is the end from there. The ways back are long, so that it is a
    neighbour of none of them: walks do not come near it, nor do its news come near the walks.
    """
    delays = np.array([[10.0 * abs(a - b) * rng.uniform(0.8, 1.25) for b in range(HOSTS)] for a in range(HOSTS)])
    delays[START, RELAY], delays[RELAY, START] = rng.uniform(3.0, 8.0), 400.0
    delays[RELAY, END], delays[END, RELAY] = rng.uniform(3.0, 8.0), 400.0
    return OverlayNetwork.sparse(tuple(Host(f"h{k:02}") for k in range(HOSTS)), delays)


def test_scouts_find_the_relay_that_no_walk_comes_near() -> None:
    """With the defaults: without dreams all flows take the long way, up to six times as slow as the best."""
    ratios = []
    for seed in range(6):
        rng = Random(f"{seed}/overlay")
        network = overlay(rng)
        direct_ms = network.delays_ms[START, END]
        assert network.delays_ms[START, RELAY] + network.delays_ms[RELAY, END] < direct_ms / 3
        background = [background_load(0.3, host.capacity, QueryParams(), rng=rng) for host in network.hosts]
        tasks = tuple(Task(f"t{k}", rng.uniform(1.0, 4.0)) for k in range(rng.randint(1, 3)))
        flow = chain("q", Source("in", "h00", 0.01), tasks, Sink("out", "h09"))
        best = Exact().place(Problem(network, (flow,), background=tuple(background)), rng=rng)
        body = Body(network, chance=seeded(seed), leaders=STILL, background=background)
        body.acquaint()
        body.submit(flow)
        body.run_until_settled()
        ratios.append(body.latency_ms("q") / best.cost_ms)
    assert fmean(ratios) < 1.03, ratios
    assert min(ratios) > 1 - 1e-9, "nobody beats a proven optimum"


@pytest.mark.parametrize("seed", [3, 6])
def test_no_invariant_breaks_in_a_random_life_on_an_overlay(seed: int) -> None:
    """Hosts and the wires between them die and return there, too."""
    scenario = scenario_of("usual", seed)
    assert scenario.overlay
    print(scenario.command)
    outcome = live(scenario, seeded(seed))
    assert outcome.unplaced == 0
    assert outcome.placed > 0
