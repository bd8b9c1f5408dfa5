"""What a cell keeps of an order: for how long prices and answers are taken from memory."""

import math
from dataclasses import replace
from random import Random

import pytest

from placement.ants.desk import Folder
from placement.ants.order import Anchor, Order
from placement.ants.params import IMPROVED
from placement.ants.programme import no_tasks_yet
from placement.ants.scouting import scout, step
from placement.ants.surroundings import Digest
from placement.cell import Cell
from placement.model import Sink, Source, Task, chain
from placement.queueing import Load
from placement.scent import Scent

FLOW = chain("f", Source("in", "s", 0.01), tuple(Task(name, 10.0) for name in "ab"), Sink("out", "d"))
ORDER = Order(FLOW, 1, 0, (0, 1), "s", "d", (1.0,) * 3, ((), (Anchor("p2", 0.5, exact=False),)))
NEXT_ROUND = replace(ORDER, round=2)
QUESTION = (0.0, no_tasks_yet(ORDER))
BUSY = Load(rate_per_ms=0.05, rho=0.5, square=5.0, burst=0.05, rate_squares=0.0025)


def a_cell() -> Cell:
    return Cell("s", 1.0, {"m": 5.0}, IMPROVED, delay=lambda a, b: math.nan, direct=False)


def opened(cell: Cell, order: Order, *, lasting: bool = True) -> Folder:
    return cell.desk.open(order, 0.98, stamp=cell.stamp(order.pulling), lasting=lasting)


def with_an_answer(cell: Cell) -> Folder:
    folder = opened(cell, ORDER)
    cell.desk.remember(folder, QUESTION, ())
    return folder


@pytest.mark.parametrize(("lasting", "answer"), [(True, ()), (False, None)])
def test_the_next_round_is_answered_from_memory_where_every_change_is_known(lasting: bool, answer: object) -> None:
    """A leader that watches asks the same every few seconds. Where delays may change unnoticed it is told anew."""
    cell = a_cell()
    with_an_answer(cell)
    assert answer == cell.desk.recall(opened(cell, NEXT_ROUND, lasting=lasting), QUESTION)


@pytest.mark.parametrize(
    "change",
    [
        lambda cell: cell.ledger.measure(BUSY),
        lambda cell: cell.surroundings.hear(Digest(replace(cell.view(), host="m"), 1, "m", 0.0, 0), cell.links_ms),
        lambda cell: cell.scents.smell(Scent("p2", 1, "m", 3.0), cell.links_ms, cell.pheromone, now_ms=0.0),
        lambda cell: cell.link_changed("m", 6.0),
    ],
    ids=["load here", "hosts around", "way to an end that pulls", "own link"],
)
def test_whatever_a_price_or_a_way_depends_on_ends_the_memory(change: object) -> None:
    """A scout that is told yesterday's answer reports a placement that is not there."""
    cell = a_cell()
    with_an_answer(cell)
    change(cell)  # type: ignore[operator]
    assert cell.desk.recall(opened(cell, NEXT_ROUND), QUESTION) is None


def test_a_wave_for_another_end_does_not_end_the_memory() -> None:
    """Waves come all the time in a large network, and few are for an end of this order."""
    cell = a_cell()
    folder = with_an_answer(cell)
    cell.scents.smell(Scent("elsewhere", 1, "m", 3.0), cell.links_ms, cell.pheromone, now_ms=0.0)
    assert folder is opened(cell, NEXT_ROUND)


def test_an_order_that_asks_for_something_else_starts_empty() -> None:
    """The flow has moved since: its own load is elsewhere now, and so are its prices."""
    cell = a_cell()
    folder = with_an_answer(cell)
    cell.desk.pricer(folder, ORDER, cell.view(), cap=0.98, social=True, loop_ms=0.0)
    moved = opened(cell, replace(NEXT_ROUND, running=(("s", 0b01),)))
    assert ({}, []) == (moved.pricers, moved.answers)


def test_a_price_is_kept_until_its_host_is_seen_anew() -> None:
    """A digest from anywhere ends the answers, but prices only its own host anew."""
    cell = a_cell()
    view = cell.view()
    before = cell.desk.pricer(with_an_answer(cell), ORDER, view, cap=0.98, social=True, loop_ms=0.0)
    cell.surroundings.hear(Digest(replace(view, host="m"), 1, "m", 0.0, 0), cell.links_ms)
    folder = opened(cell, NEXT_ROUND)
    assert before is cell.desk.pricer(folder, NEXT_ROUND, view, cap=0.98, social=True, loop_ms=0.0)
    assert before is not cell.desk.pricer(folder, NEXT_ROUND, view, cap=0.98, social=True, loop_ms=2.0)
    assert before is not cell.desk.pricer(
        folder, NEXT_ROUND, replace(view, load=BUSY), cap=0.98, social=True, loop_ms=0.0
    )


@pytest.mark.parametrize(("direct", "lasting"), [(True, False), (False, True)])
def test_scouts_are_told_anew_each_round_where_delays_change_unnoticed(direct: bool, lasting: bool) -> None:
    """In an overlay a cell asks for delays as they are measured now, and nobody counts their changes."""
    delays_ms = {"m": 5.0}
    cell = Cell("s", 1.0, {"m": 5.0}, IMPROVED, delay=lambda a, b: delays_ms.get(b, 1.0), direct=direct)
    order = replace(ORDER, anchors=((), ()))
    folders = []
    for number in (1, 2):
        ant = scout(replace(order, round=number), "s", IMPROVED.scouting, rng=Random(1))
        step(ant, cell, IMPROVED.scouting, now_ms=0.0, rng=Random(1))
        (folder,) = cell.desk._folders.values()
        folders.append(folder)
    assert lasting == (folders[0] is folders[1])
