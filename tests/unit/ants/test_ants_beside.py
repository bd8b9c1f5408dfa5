"""Hosts beside the trail: the few that are chosen are those that pricing every one of them would choose."""

from random import Random

import pytest

from placement.ants.beside import best_beside
from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.ants.pricing import Pricer
from placement.model import Sink, Source, Task, chain
from placement.queueing import UTILISATION_CAP, Stream

TASKS = tuple(Task(name, work, cs2=1.0) for name, work in (("a", 2.0), ("b", 9.0), ("c", 4.0)))
FLOW = chain("f", Source("in", "s", 0.02, message_bytes=1000.0), TASKS, Sink("out", "d"))
ORDER = Order(FLOW, 1, 0, (0, 1, 2), "s", "d", (1.0,) * 4, ((), (), ()), settled=(("h07", 0b1),))
FEW = 3


def around(seed: int) -> list[tuple[HostView, float]]:
    """Forty hosts, idle to full, next door to far away; some equal in everything but their name."""
    rng, found = Random(seed), []
    for k in range(40):
        capacity = rng.choice((1.0, 2.0, 4.0))
        load = Stream(0.02, rng.choice((0.0, 0.3, 0.6, 0.97)) * capacity / 0.02, 1.0, 1.0, 1.0).load(capacity)
        found.append((HostView(f"h{k:02}", capacity, load), rng.choice((1.0, 2.0, 5.0, 20.0, 40.0))))
    return found


def pricer(view: HostView) -> Pricer:
    return Pricer(ORDER, view, cap=UTILISATION_CAP, social=True)


@pytest.mark.parametrize("seed", range(20))
def test_hosts_that_were_not_priced_would_not_have_been_chosen(seed: int) -> None:
    """Also where hosts cost the same, and where the flow has tasks already."""
    near = around(seed)
    expected: dict[str, tuple[HostView, float]] = {}
    for mask in (0b010, 0b111):
        costs = sorted((pricer(view).adds(mask).cost_ms + 2 * offset_ms, view.host) for view, offset_ms in near)
        chosen = [host for _, host in costs[:FEW]]
        expected |= {view.host: (view, offset_ms) for host in chosen for view, offset_ms in near if view.host == host}
    assert list(expected.values()) == best_beside(ORDER, near, pricer, few=FEW)


def test_far_hosts_are_not_priced() -> None:
    """A cell knows dozens of hosts, and most are too far whatever they carry: pricing is dear."""
    asked = []

    def counted(view: HostView) -> Pricer:
        asked.append(view.host)
        return pricer(view)

    idle = Stream(0.02, 0.0, 1.0, 1.0, 1.0).load(1.0)
    near = [(HostView(f"h{k:02}", 1.0, idle), 1.0 if k < 6 else 500.0) for k in range(30)]
    assert len(best_beside(ORDER, near, counted, few=FEW)) == FEW
    assert {f"h{k:02}" for k in range(6)} | {"h07"} == set(asked)
