"""Dreams: scouts that may go anywhere in one hop look where a good way may be, not only along the walk."""

import math
from dataclasses import replace
from random import Random

import numpy as np

from placement.ants.dream import dream, stations
from placement.ants.effects import Send
from placement.ants.order import Anchor, Order
from placement.ants.params import IMPROVED
from placement.ants.scouting import ScoutingParams, scout, step
from placement.ants.trail import Trail
from placement.atlas import Atlas
from placement.cell import Cell
from placement.model import Sink, Source, Task, chain
from placement.queueing import IDLE

FLOW = chain("f", Source("in", "s", 0.001), (Task("a", 1.0), Task("b", 1.0)), Sink("out", "d"))
ORDER = Order(FLOW, 1, 0, (0, 1), "s", "d", (1.0,) * 3, ((), ()))
HOSTS = ("d", "far", "relay", "s")


def atlas(**delays_ms: float) -> Atlas:
    """All 100 ms apart, except where told: s_relay=10 is the delay from s to relay."""
    matrix = np.full((len(HOSTS), len(HOSTS)), 100.0)
    np.fill_diagonal(matrix, 0.0)
    for pair, delay_ms in delays_ms.items():
        origin, target = pair.split("_")
        matrix[HOSTS.index(origin), HOSTS.index(target)] = delay_ms
    return Atlas(HOSTS, np.ones(len(HOSTS)), matrix)


SHORT = atlas(s_relay=10.0, relay_d=10.0)


def overlay_cell(host: str, world: Atlas) -> Cell:
    def delay(a: str, b: str) -> float:
        return float(world.delays_ms[world.index[a], world.index[b]])

    return Cell(host, 1.0, {}, IMPROVED, delay=delay, direct=True, background=IDLE, atlas=lambda: world)


def test_a_dream_leads_over_a_host_that_makes_the_way_shorter() -> None:
    """Real delays break the triangle inequality: 10 + 10 ms over a third host beat 100 ms directly."""
    assert dream(ORDER, SHORT, {}, rng=Random(1)) == ("relay",)


def test_what_is_known_of_a_host_is_not_imagined() -> None:
    """Two relays alike, one known to be full: nobody dreams of that one."""
    two = atlas(s_relay=10.0, relay_d=10.0, s_far=10.0, far_d=10.0)
    seen = {host for seed in range(30) for host in dream(ORDER, two, {}, rng=Random(seed))}
    assert seen == {"relay", "far"}
    assert {("relay",)} == {dream(ORDER, two, {"far": 0.97, "relay": 0.0}, rng=Random(seed)) for seed in range(30)}


def test_a_host_that_nobody_reaches_has_a_place_in_the_order_too() -> None:
    """What is no number compares with nothing: the order would be that of a set, another one in each process."""
    parted = np.full((3, 3), math.inf)
    np.fill_diagonal(parted, 0.0)
    with np.errstate(invalid="raise"):
        assert ("a",) == stations(ORDER, Atlas(("a", "d", "s"), np.ones(3), parted), {}, dreams=2, rng=Random(1))


def test_the_stations_of_several_dreams_lead_from_the_start_to_the_end() -> None:
    """The programme places tasks in the order in which its scout passes hosts."""
    row = atlas(s_relay=10.0, relay_far=10.0, far_d=10.0, s_far=30.0, relay_d=30.0)
    assert stations(ORDER, row, {}, dreams=8, rng=Random(1)) == ("relay", "far")


def test_a_dreaming_scout_goes_there_in_one_hop_and_then_to_the_end() -> None:
    """In an overlay any host is one message away; no neighbour has to lead there."""
    params = ScoutingParams(dreaming=1.0)
    (send,) = step(
        scout(ORDER, "s", params, rng=Random(1)), overlay_cell("s", SHORT), params, now_ms=0.0, rng=Random(1)
    )
    assert isinstance(send, Send)
    assert send.to == "relay"
    (onward,) = step(send.message, overlay_cell("relay", SHORT), params, now_ms=0.0, rng=Random(1))
    assert onward.to == "d"
    (home,) = step(onward.message, overlay_cell("d", SHORT), params, now_ms=0.0, rng=Random(1))
    report = home.message.news
    assert "relay" in report.hosts
    assert report.own_ms < 30.0


def test_a_branch_pulls_along_the_shortest_way_over_others_and_in_the_direction_of_its_messages() -> None:
    """A join next to the other producer by the way back only would pay the long way there."""
    world = atlas(s_relay=10.0, relay_d=10.0, d_s=5.0)
    here = overlay_cell("d", world)
    assert here.anchor_ms("d", 0.0, Anchor("s", 1.0, exact=False, upstream=True)) == 20.0
    assert here.anchor_ms("d", 0.0, Anchor("s", 1.0, exact=False, upstream=False)) == 5.0
    assert here.anchor_ms("d", 0.0, Anchor("s", 1.0, exact=True, upstream=True)) == 100.0


def test_the_shortest_way_bounds_what_is_outstanding() -> None:
    """A report is outstanding near what no placement can beat; a walk over neighbours is no such bound."""
    assert overlay_cell("s", SHORT).straight_ms("d") == 20.0
    assert math.isinf(Cell("s", 1.0, {}, IMPROVED, delay=lambda a, b: 0.0, direct=False).straight_ms("d"))


def test_a_report_counts_one_hop_for_each_edge_between_hosts_where_data_go_straight() -> None:
    """Budgets are filled by what data move: a walk over ten neighbours is no way of data in an overlay."""
    trail = Trail(("s", "relay", "far", "d"), (0.0, 10.0, 110.0, 210.0), (0.0, 10.0, 110.0, 210.0), 210.0, 3)
    ant = replace(scout(ORDER, "s", IMPROVED.scouting, rng=Random(1)), trail=trail)
    walked = Cell("d", 1.0, {}, IMPROVED, delay=lambda a, b: math.nan, direct=False)
    hops = []
    for here in (overlay_cell("d", SHORT), walked):
        (home,) = step(ant, here, IMPROVED.scouting, now_ms=0.0, rng=Random(1))
        assert isinstance(home, Send)
        assert ("d", "d") == home.message.news.hosts
        hops.append(home.message.news.hops)
    assert [1, 3] == hops
