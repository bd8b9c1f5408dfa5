"""The message budget, end to end: what ants of running flows cost the network, against the data they watch over."""

from collections.abc import Sequence
from random import Random
from typing import Any

from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.ants.sizes import ENVELOPE_BYTES
from placement.leader_params import IMPROVED_LEADER
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, mixed_query
from placement.simulator.traffic import data_byte_hops_per_ms
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub
from services.lab.chance import seeded

SMALL = TransitStubParams(transit_domains=1, transit_hosts=3, stubs=2, stub_hosts=5)
BUSY = QueryParams(least_rate_per_ms=0.05, most_rate_per_ms=0.1, least_service_vwu=0.5, most_service_vwu=2.0)
STEADY_MS = 3_600_000.0
PAID = (RoutingAnt, ScoutingAnt)
"""Each with the envelope that it travels in, alone or with others."""


def test_ants_of_running_flows_keep_to_their_share_of_the_data() -> None:
    """DESIGN section 5, improvement 6: with the defaults, whatever they are said to be. Without a budget leaders look
    every 5 s and spend a hundred times as much."""
    rng = Random("budget")
    network = transit_stub(SMALL, rng=rng)
    envelopes = 0

    def weigh(_to: str, messages: Sequence[Any], hops: int) -> None:
        nonlocal envelopes
        if any(isinstance(message, PAID) for message in messages):
            envelopes += ENVELOPE_BYTES * hops

    body = Body(network, chance=seeded(1), scales=weigh)
    body.acquaint()
    for k in range(4):
        body.submit(mixed_query(f"q{k}", rng.randint(2, 4), stub_hosts(network), BUSY, rng=rng))
        body.run_until_settled()
    burst = envelopes + sum(body.traffic.byte_hops[kind.__name__] for kind in PAID)
    body.run_for(STEADY_MS)
    spent = envelopes + sum(body.traffic.byte_hops[kind.__name__] for kind in PAID) - burst
    flows = [(leader.flow, leader.running) for _, leader in sorted(body.leaders.items())]
    data = STEADY_MS * sum(data_byte_hops_per_ms(network, flow, hosts) for flow, hosts in flows)
    assert IMPROVED_LEADER.budget_share is not None
    assert 0 < spent <= IMPROVED_LEADER.budget_share * data, f"{spent / data:.1e} of the data"
