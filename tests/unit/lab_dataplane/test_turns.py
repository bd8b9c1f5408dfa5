"""A host that limits its polls in turn: what a batch costs is told by turns next to each other."""

import sys
from pathlib import Path

import pytest

from services.lab.dataplane.small_batches import WARM_UP_TURNS, costs_ms
from services.lab.dataplane.turns import SETTLE_S, TURN_S, Turn, Turns, read

COLD = [Turn(True, 1, 9.0), Turn(False, 1, 9.0)] * (WARM_UP_TURNS // 2)


class Clock:
    """One that is told."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_turns_change_after_a_while_and_each_has_what_was_done_in_it(tmp_path: Path) -> None:
    """The first records begin the first turn: what came before them is the start of a process. And what a turn works
    off of the one before it is on nobody's account."""
    clock, cpu = Clock(), Clock()
    turns = Turns(10, clock=clock, cpu=cpu)

    def done(records: int, *, at_s: float, cpu_s: float) -> None:
        clock.now_s, cpu.now_s = at_s, cpu_s
        turns.done(records)

    done(10, at_s=100.0, cpu_s=5.0)
    done(8_000, at_s=100.0 + SETTLE_S / 2, cpu_s=5.5)
    done(8_000, at_s=100.0 + SETTLE_S, cpu_s=6.0)
    done(10, at_s=100.0 + TURN_S / 2, cpu_s=6.125)
    assert 10 == turns.records_max()
    done(20, at_s=100.0 + TURN_S, cpu_s=6.25)
    assert sys.maxsize == turns.records_max()
    done(10, at_s=100.0 + TURN_S + SETTLE_S, cpu_s=6.5)
    done(500, at_s=100.0 + 2 * TURN_S, cpu_s=7.0)
    assert 10 == turns.records_max()
    turns.write(tmp_path / "turns")
    assert [Turn(True, 30, 0.25), Turn(False, 500, 0.5)] == read(tmp_path / "turns")


def test_a_batch_costs_what_its_records_do_not_explain() -> None:
    """10 records that take 30 microseconds each instead of 2 came in a batch of 280; then the machine gets slower."""
    warm = [Turn(True, 100, 3e-3), Turn(False, 1_000, 2e-3), Turn(True, 100, 6e-3), Turn(False, 1_000, 4e-3)]
    assert [pytest.approx(0.28), pytest.approx(0.58), pytest.approx(0.56)] == costs_ms([*COLD, *warm], 10)


def test_what_a_host_takes_while_it_is_cold_does_not_count() -> None:
    assert [] == costs_ms(COLD, 10)
