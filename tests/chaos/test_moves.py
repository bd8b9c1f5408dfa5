"""A sample of the chaos matrix of moves, and that its judge has eyes; `make chaos` plays the whole matrix."""

from pathlib import Path

import pytest

from tests.chaos.flows import CASES
from tests.chaos.moves.ground import MoveGround
from tests.chaos.moves.matrix import HURTS, PHASES, VICTIMS, Cell, cells
from tests.chaos.moves.owners import epochs_of, strange_words
from tests.chaos.moves.run import MoveRun
from topics.messages import Placement, SegmentStatus

SEED = 2
REST_S_MAX = 240.0
"""`make chaos` has a machine for itself, and asks for 60 s."""
SAMPLE = (
    Cell("committing", "origin", "kill", SEED),
    Cell("fencing", "target", "freeze", SEED),
    Cell("proposing", "leader", "cut", SEED),
    Cell("handing_over", "active", "kill", SEED),
    Cell("catching_up", "broker", "freeze", SEED),
    Cell("returning", "redis", "cut", SEED),
)


@pytest.mark.timeout(2_400)
def test_whoever_is_hurt_in_a_move_nothing_is_lost_doubled_or_owned_twice(tmp_path: Path) -> None:
    """Each party once, in a phase where it matters, on the product as it is deployed."""
    outcomes = []
    with MoveGround(tmp_path) as ground:
        for cell in SAMPLE:
            outcomes.append(MoveRun(cell, ground, rest_s_max=REST_S_MAX).play_cell())
            print(outcomes[-1].line)
    bad = [outcome for outcome in outcomes if not outcome.verdict.is_good]
    for outcome in sorted(bad, key=lambda each: each.verdict.waited_in_vain):  # what was lost counts for more
        outcome.verdict.demand_good("\n".join(each.line for each in bad))


def test_the_sample_has_every_victim_and_every_hurt() -> None:
    """Each victim in a phase of its own."""
    assert set(VICTIMS) == {cell.victim for cell in SAMPLE}
    assert dict.fromkeys(HURTS, 2) == {hurt: sum(cell.hurt == hurt for cell in SAMPLE) for hurt in HURTS}
    assert len(SAMPLE) == len({cell.phase for cell in SAMPLE})


def test_the_matrix_is_whole() -> None:
    """Every party is hurt in every way in every phase; every flow moves under both deliveries."""
    every = cells(1)
    assert len(PHASES) * len(VICTIMS) * len(HURTS) == len(every) == len(set(map(str, every)))
    shapes = {(cell.case.name, cell.delivery) for cell in every}
    assert {(case.name, how) for case in CASES for how in ("exactly_once", "at_least_once")} == shapes


def test_a_cell_says_all() -> None:
    """A recipe is worth nothing if it does not bring back the same records and instants."""
    one, same, other = (Cell("fencing", "target", "cut", seed) for seed in (7, 7, 8))
    assert (one.scenario, one.lasts_s) == (same.scenario, same.lasts_s)
    assert one.scenario.fed != other.scenario.fed
    assert cells(7) == cells(7)


def placed(epoch: int, host: str) -> Placement:
    return Placement(
        segment="s", partition=0, epoch=epoch, host=host, flow="f", revision=1, operators=("o",), placed_ms=1
    )


def told(epoch: int, host: str) -> SegmentStatus:
    return SegmentStatus(
        segment="s", partition=0, epoch=epoch, host=host, state="running", since_ms=1, reported_ms=1, lag=0
    )


def test_two_owners_and_words_of_strangers_are_seen() -> None:
    """The judge of owners finds what the matrix looks for."""
    owners, wrong = epochs_of([placed(1, "a"), placed(2, "b"), placed(2, "b")])
    assert {(("s", 0), 1): "a", (("s", 0), 2): "b"} == owners
    assert [] == wrong
    assert [] == strange_words(owners, [told(1, "a"), told(2, "b"), told(1, "a")])
    assert 1 == len(strange_words(owners, [told(2, "a")]))
    assert "two owners in epoch 2" in epochs_of([placed(1, "a"), placed(2, "b"), placed(2, "c")])[1][0]
    assert "back to 1" in epochs_of([placed(2, "a"), placed(1, "b")])[1][0]
