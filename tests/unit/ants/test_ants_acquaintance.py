"""Cells get to know each other in whatever order they meet, and believe a cell that has started again."""

from collections import deque
from random import Random

from placement.ants.effects import Send
from placement.ants.params import IMPROVED
from placement.ants.trail import Trail
from placement.cell import Cell


def cell(host: str, *, born: int = 0) -> Cell:
    return Cell(host, 1.0, {}, IMPROVED, delay=lambda a, b: 1.0, direct=True, born=born)


def deliver(cells: dict[str, Cell], sends: list[Send]) -> None:
    """Carry messages until nobody says anything more."""
    waiting = deque(sends)
    for _ in range(1_000):
        if not waiting:
            return
        send = waiting.popleft()
        heard = cells[send.to].hear(send.message, now_ms=0.0, rng=Random(1))
        waiting += [effect for effect in heard if isinstance(effect, Send)]
    raise AssertionError("they never stop talking")


def near(one: Cell) -> list[str]:
    return [view.host for view, _ in one.near()]


def test_two_cells_that_link_one_after_the_other_know_each_other() -> None:
    """The first tells of itself when the second does not listen yet."""
    cells = {name: cell(name) for name in "ab"}
    deliver(cells, cells["a"].link_changed("b", 1.0))
    assert [] == near(cells["b"])
    deliver(cells, cells["b"].link_changed("a", 1.0))
    assert (["b"], ["a"]) == (near(cells["a"]), near(cells["b"]))


def test_a_cell_that_starts_again_is_believed() -> None:
    """It counts from the beginning; what it counted to before must not make it a liar."""
    cells = {name: cell(name) for name in "ab"}
    for name, other in ("ab", "ba"):
        deliver(cells, cells[name].link_changed(other, 1.0))
    for _ in range(5):
        deliver(cells, cells["b"].tell(always=True))
    cells["b"] = Cell("b", 7.0, {"a": 1.0}, IMPROVED, delay=lambda a, b: 1.0, direct=True, born=1_000)
    deliver(cells, cells["b"].tell(always=True))
    assert [7.0] == [view.capacity for view, _ in cells["a"].near()]


def test_a_hop_takes_as_long_as_it_took() -> None:
    """What a cell knows of its link is an estimate; the trip statistics want the truth."""
    left = Trail.start("a").leave("b", wait_ms=2.0, link_ms=5.0)
    assert left is not None
    came = left.took("a", 9.0)
    assert ((0.0, 11.0), (0.0, 5.0), 11.0) == (came.elapsed_ms, came.distance_ms, came.age_ms)
    assert left == left.took("c", 9.0), "the hop of a cycle that was cut out"
    assert Trail.start("a") == Trail.start("a").took("b", 9.0)
