"""A host or a link dies at any point of an ant's life: one placement and one move, cut at every kind of moment."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from placement.ants.enforcement import Activation, Cancellation, EnforcementAnt, Release
from placement.ants.measuring import MeasuringAnt
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.leader_params import IMPROVED_LEADER
from placement.simulator.body import Body
from placement.simulator.faults import lose_host, lose_link, return_host, return_link
from placement.simulator.invariants import host_faults, rest_faults, system_faults
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub
from services.lab.chance import seeded

SMALL = TransitStubParams(transit_domains=1, transit_hosts=2, stubs=2, stub_hosts=3)
LIVES = (RoutingAnt, ScoutingAnt, MeasuringAnt, EnforcementAnt, Activation, Cancellation, Release)
FEW_WALKERS = 5
"""Of the many visits of routing ants and scouts so many are cut; of all others every one."""
DEAD_MS = 4_000.0


class Life:
    """One flow is placed, its host fills up, its user asks for a better place. `cut` is the visit at which it dies."""

    def __init__(self, *, cut: int | None = None, link: bool = False) -> None:
        rng = Random("everywhere")
        self.network = transit_stub(SMALL, rng=rng)
        self.flow = random_query("q", 3, Shape.CHAIN, stub_hosts(self.network), QueryParams(), rng=rng)
        self.visits: list[type] = []
        self._cut, self._link = cut, link
        self.body = Body(
            self.network, chance=seeded(1), leaders=replace(IMPROVED_LEADER, watch=False), observer=self._see
        )

    def _see(self, now_ms: float, where: str, what: Any) -> None:
        if not isinstance(what, LIVES):
            return
        if len(self.visits) == self._cut:
            self._die(where)
        self.visits.append(type(what))

    def _die(self, host: str) -> None:
        kernel, body = self.body.kernel, self.body
        if self._link:
            place = self.network.host_index[host]
            other = self.network.hosts[self.network.neighbours[place][0]].name
            kernel.after(0.0, lose_link, body, host, other)
            kernel.after(DEAD_MS, return_link, body, host, other)
        else:
            kernel.after(0.0, lose_host, body, host)
            kernel.after(DEAD_MS, return_host, body, host)

    def run(self) -> "Life":
        body = self.body
        body.acquaint()
        body.submit(self.flow)
        body.run_for(10_000.0)
        if "q" in body.truth.running:
            crowded = body.leaders["q"].running[0]
            load = background_load(0.45, 1.0, QueryParams(), rng=Random(1))._replace(rho=0.9, square=40.0)
            body.set_background(crowded, load)
            body.resubmit(self.flow)
        body.run_for(10_000.0)
        if "q" not in body.leaders:
            body.submit(self.flow)  # as its user does once the host of its leader is back
        body.run_for(70_000.0)
        return self

    def faults(self) -> list[str]:
        body = self.body
        at_hosts = [each for host in sorted(body.cells) for each in host_faults(body, host)]
        unplaced = [] if "q" in body.truth.running else ["q does not run"]
        return at_hosts + system_faults(body) + rest_faults(body) + unplaced


def moments() -> Iterator[int]:
    """Every visit of an ant that books or ends something, and a few of those that only look."""
    visits = Life().run().visits
    walkers = [k for k, kind in enumerate(visits) if kind in (RoutingAnt, ScoutingAnt)]
    yield from walkers[:: max(1, len(walkers) // FEW_WALKERS)]
    yield from (k for k, kind in enumerate(visits) if kind not in (RoutingAnt, ScoutingAnt))


@pytest.mark.parametrize("link", [False, True], ids=["host", "link"])
def test_whatever_dies_under_an_ant_the_flow_runs_in_the_end_and_nothing_is_left_behind(link: bool) -> None:
    """What the paper left open. The visits cover a search, a booking, a commit, an activation and a release."""
    broken = {cut: faults for cut in moments() if (faults := Life(cut=cut, link=link).run().faults())}
    assert {} == broken


def test_the_life_that_is_cut_has_a_placement_and_a_move() -> None:
    """Otherwise the test above would prove little."""
    visits = Life().run().visits
    assert {RoutingAnt, ScoutingAnt, MeasuringAnt, EnforcementAnt, Activation, Release} <= set(visits)
