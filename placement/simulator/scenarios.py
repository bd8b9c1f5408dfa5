"""The scenarios that have a name, so that a command can show any of their lives again."""

from dataclasses import replace

from placement.leader_params import IMPROVED_LEADER
from placement.simulator.queries import QueryParams
from placement.simulator.scenario import Scenario
from placement.topology.transit_stub import TransitStubParams

USUAL = Scenario(0, name="usual")
"""A bit of everything. Every third life is on an overlay."""

SHORT = Scenario(0, name="short", flows=4, duration_ms=40_000.0, rest_ms=80_000.0, load=0.4)

CROWDED = Scenario(
    0,
    name="crowded",
    flows=12,
    host_faults=0,
    link_faults=0,
    duration_ms=20_000.0,
    rest_ms=0.0,
    load=0.3,
    queries=QueryParams(least_rate_per_ms=0.02, most_rate_per_ms=0.04),
    network=TransitStubParams(transit_domains=1, transit_hosts=1, stubs=1, stub_hosts=8, capacities=(1.0,)),
    together=True,
    room=False,
)
"""Leaders that compete for the same few hosts."""

FAULTY = Scenario(0, name="faulty", flows=4, host_faults=6, duration_ms=30_000.0, rest_ms=20_000.0)

OUTAGES = Scenario(
    0, name="outages", flows=4, host_faults=0, class_faults=3, link_faults=0, duration_ms=40_000.0, rest_ms=60_000.0
)
"""Whole stubs or the whole backbone die at once, with all leaders that live there."""

RESTLESS = Scenario(
    0,
    name="restless",
    flows=4,
    host_faults=0,
    link_faults=0,
    load_changes=600,
    duration_ms=60_000.0,
    rest_ms=0.0,
    leaders=replace(IMPROVED_LEADER, budget_share=None),
)
"""Cross-traffic jumps ten times a second and leaders look every 5 s: there always is a better place somewhere."""

SCENARIOS = {each.name: each for each in (USUAL, SHORT, CROWDED, FAULTY, OUTAGES, RESTLESS)}


def scenario_of(name: str, seed: int) -> Scenario:
    """The life of a seed in one of the scenarios."""
    return replace(SCENARIOS[name], seed=seed, overlay=name == USUAL.name and seed % 3 == 0)
