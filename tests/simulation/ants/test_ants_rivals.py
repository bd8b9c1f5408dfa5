"""Flows that come at the same moment compete for the same hosts: leaders refuse each other, and all get a place."""

from dataclasses import replace
from random import Random

from placement.leader_events import GaveUp
from placement.leader_params import IMPROVED_LEADER
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, mixed_query
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub
from services.lab.chance import seeded

SMALL = TransitStubParams(transit_domains=1, transit_hosts=3, stubs=2, stub_hosts=4)
FLOWS = 30
SETTLED_MS = 4_000.0
"""Where patience grew with every refusal, the last of these flows ran after 7 to 14 s (decision 263)."""


def test_flows_that_come_together_all_run_within_seconds_and_none_gives_up() -> None:
    """A latecomer crowds hosts where others have settled, and they move again: a wave of flows has to end soon."""
    for seed in (3, 5):
        network = transit_stub(SMALL, rng=Random(seed))
        rng = Random(f"{seed}/q")
        ends = stub_hosts(network)
        body = Body(network, chance=seeded(seed), leaders=replace(IMPROVED_LEADER, watch=False))
        body.acquaint()
        for k in range(FLOWS):
            body.submit(mixed_query(f"q{k:03}", rng.randint(2, 6), ends, QueryParams(), rng=rng))
        body.run_for(SETTLED_MS)
        refused = sum(leader.epoch for leader in body.leaders.values()) - FLOWS
        assert refused > FLOWS / 4, f"seed {seed}: only {refused} refusals, so nothing is shown"
        assert set(body.leaders) == set(body.truth.running), f"seed {seed}"
        assert [] == [decision for _, decision in body.decisions if isinstance(decision, GaveUp)], f"seed {seed}"
