"""Flows that come at the same moment compete for the same hosts: leaders refuse each other, and all get a place."""

from dataclasses import replace
from random import Random
from typing import Any

from placement.ants.enforcement import Enforced
from placement.ants.params import IMPROVED
from placement.leader_events import GaveUp
from placement.leader_params import IMPROVED_LEADER
from placement.model import Flow, Host, Link, RoutedNetwork, Sink, Source, Task, chain
from placement.simulator.body import Body
from placement.simulator.faults import lose_host
from placement.simulator.invariants import rest_faults
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


def test_a_host_that_a_rival_held_for_a_moment_is_found_again() -> None:
    """A reserves x, B is turned back there, C takes y and so turns A back: x is free again, and B has to see it.

    A leader that believes what it was told until it rests gives up after four seconds, and sleeps for ten more.
    """
    network = RoutedNetwork(
        (Host("x"), Host("y"), *(Host(name, 0.1) for name in ("hub", "p", "q", "pc", "qc"))),
        (
            *(Link("hub", end, 10.0) for end in ("p", "q")),
            *(Link("y", end, 10.0) for end in ("pc", "qc")),
            Link("hub", "x", 5.0),
            Link("x", "y", 100.0),
        ),
    )
    # Weakened trails would let scouts stray to x itself, where they need no news of it.
    ants = replace(IMPROVED, scouting=replace(IMPROVED.scouting, failures_to_weaken=1_000))

    def flow(name: str, tasks: int, start: str, end: str) -> Flow:
        """Each of its tasks takes more than half of a host."""
        work = tuple(Task(f"t{k}", 6.0) for k in range(tasks))
        return chain(name, Source("in", start, 0.1), work, Sink("out", end))

    for seed in range(4):
        refusals: list[str] = []

        def observer(_: float, where: str, what: Any, refusals: list[str] = refusals) -> None:
            if isinstance(what, Enforced) and not what.committed:
                refusals.append(f"{where}: {what.why[:1]}")

        body = Body(network, chance=seeded(seed), ants=ants, observer=observer)
        body.acquaint()
        body.submit(flow("a", 2, "p", "q"))
        body.submit(flow("c", 1, "pc", "qc"))
        body.run_for(50.0)
        body.submit(flow("b", 1, "p", "q"))
        body.run_for(SETTLED_MS)
        assert ["leader of b: x", "leader of a: y"] == refusals[:2], f"seed {seed}: nothing is shown"
        assert {"b", "c"} == set(body.truth.running), f"seed {seed}"


def test_two_flows_that_hold_what_the_other_needs_do_not_wait_for_each_other() -> None:
    """Each has lost one of its two hosts, and only the other's second one has room: who waits must hold nothing.

    Otherwise neither runs again, though there is room for either.
    """
    rooms = {"a": ("xa", "ya"), "b": ("xb", "yb")}
    network = RoutedNetwork(
        (*(Host(room) for flow in rooms.values() for room in flow), *(Host(end, 0.1) for end in ("p", "q"))),
        (*(Link(end, room, 10.0) for end in ("p", "q") for flow in rooms.values() for room in flow),),
    )

    def flow(name: str) -> Flow:
        """Each of its two tasks takes more than half of a host."""
        return chain(name, Source("in", "p", 0.1), (Task("t0", 6.0), Task("t1", 6.0)), Sink("out", "q"))

    for seed in range(4):
        body = Body(network, chance=seeded(seed))
        body.acquaint()
        for name in rooms:
            body.submit(flow(name))
            body.run_until_settled()
        assert set(rooms) == set(body.truth.running), f"seed {seed}"
        for name in rooms:
            lose_host(body, body.leaders[name].running[0])
        body.run_for(20_000.0)
        assert 1 == len(body.truth.running), f"seed {seed}"
        body.run_for(60_000.0)
        assert [] == rest_faults(body), f"seed {seed}"
