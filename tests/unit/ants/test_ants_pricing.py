"""What a scout pays: marginal prices on a host, given what its own flow already does there."""

import math

import pytest

from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.ants.pricing import Pricer, without
from placement.evaluator_pricing import price_on_host
from placement.model import Sink, Source, Task, chain
from placement.queueing import IDLE, Load, wait_ms

FLOW = chain("f", Source("in", "s", 0.01), tuple(Task(name, 10.0) for name in "ab"), Sink("out", "d"))
BUSY = Load(rate_per_ms=0.05, rho=0.5, square=5.0, burst=0.05, rate_squares=0.0025)


def order(**changes: object) -> Order:
    plain = {"settled": (), "running": ()} | changes
    return Order(FLOW, 1, 0, (0, 1), "s", "d", (1.0,) * 3, ((), ()), **plain)


def test_a_task_beside_an_earlier_chain_s_task_pays_only_what_it_adds() -> None:
    """Fused tasks queue once: the second one on a host is cheaper than the first."""
    view = HostView("h", 1.0, BUSY)
    pricer = Pricer(order(settled=(("h", 0b01),)), view, cap=0.98, social=True)
    both, first = (price_on_host(FLOW.graph, mask, 1.0, BUSY).own_ms for mask in (0b11, 0b01))
    assert pytest.approx(both - first) == pricer.adds(0b10).own_ms


def test_a_load_without_its_only_part_is_idle() -> None:
    """Also after rounding: a rate of 1e-18 with no variance would divide by zero."""
    part = Load(0.1, 0.3, 1.0, 0.1, 0.01, 1.0)
    whole = IDLE.plus(part)
    assert without(whole, part) == IDLE
    third = Load(0.1 / 3, 0.1, 1.0 / 3, 0.1 / 3, 0.01 / 9, 0.0)
    thrice = third.plus(third).plus(third)
    left = without(without(without(thrice, third), third), third)
    assert math.isfinite(wait_ms(left))


def test_a_part_that_a_stale_digest_does_not_contain_leaves_nothing_absurd() -> None:
    """The digest may be older than the flow."""
    left = without(Load(0.02, 0.01, 0.1, 0.02, 0.0001), Load(0.01, 0.5, 5.0, 0.01, 0.0002))
    assert left == IDLE


def test_a_full_host_has_no_room() -> None:
    """The price is infinite, not large."""
    pricer = Pricer(order(), HostView("h", 1.0, Load(0.05, 0.97, 18.0, 0.05, 0.0025)), cap=0.98, social=True)
    assert math.isinf(pricer.adds(0b11).cost_ms)


def test_a_task_that_has_just_left_a_host_finds_no_room_there() -> None:
    """Cool-down, task by task: the others may still go there."""
    pricer = Pricer(order(barred=(("h", 0b01),)), HostView("h", 1.0, IDLE), cap=0.98, social=True)
    assert math.isinf(pricer.adds(0b11).cost_ms)
    assert math.isfinite(pricer.adds(0b10).cost_ms)


def test_edges_between_tasks_on_a_host_far_from_its_broker_cost_the_way_there_and_back() -> None:
    """Through Kafka also what stays on a host travels."""
    view = HostView("h", 1.0, IDLE)
    near, far = (Pricer(order(), view, cap=0.98, social=True, loop_ms=loop_ms) for loop_ms in (0.0, 24.0))
    assert far.adds(0b01) == near.adds(0b01), "one task has no edge of its own there"
    assert 24.0 == pytest.approx(far.adds(0b11).own_ms - near.adds(0b11).own_ms)
