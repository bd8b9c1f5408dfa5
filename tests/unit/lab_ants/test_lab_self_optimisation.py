"""Figure 3a and table 1: what they say where there is nothing to gain, or no room."""

from pathlib import Path
from typing import Any

import pytest

from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.model import Problem
from placement.simulator.body import Body
from placement.strategies import NoFeasibleHost
from placement.strategies.protocol import Chance, Proposal
from services.lab.experiments import Experiment, Trial, self_optimisation, thresholds
from services.lab.experiments.self_optimisation import AT_END, BY_DEFAULT, CAP_MS, FIG_3A, OVER_WITHOUT, TO_GAIN
from services.lab.results import Row
from services.lab.samples import rows
from services.lab.targets import Outcome, judge


class NoRoom:
    """A search that finds every host full."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        raise NoFeasibleHost("full")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "net.csv"
    file.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(12)) for b in range(12)))
    return file


def found(experiment: Experiment, network: Path) -> dict[str, Row]:
    return {row.measure: row for row in rows(experiment.trial(Trial(1, network)))}


@pytest.mark.parametrize(("unmoved", "seeds"), [(1.05, 0.0), (1.2, 1.0)])
def test_a_seed_counts_where_a_placement_is_better_by_more_than_beta(unmoved: float, seeds: float) -> None:
    """Else staying is right, and a ratio of 1 tells nothing about self-optimisation."""
    best: Proposal = Proposal(placement=None, cost_ms=50.0, reasons=(), proven=True)  # type: ignore[arg-type]
    last = {"self-optimising": 50.0, "without": unmoved * 50.0}
    told = {row.measure: row for row in rows(self_optimisation._against_optimum(last, best, 1.1, 1))}
    assert seeds == told[TO_GAIN].value
    assert (f"{OVER_WITHOUT}, {TO_GAIN}" in told) == bool(seeds)


def test_where_nothing_can_be_gained_the_target_is_not_met(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval [1, 1] of ten seeds in which nothing moved passed for 'clearly below'."""
    monkeypatch.setattr(self_optimisation, "RATE_STEP", 1.0)
    told = found(FIG_3A, network)
    assert (0.0, 1.0) == (told[TO_GAIN].value, told[f"{OVER_WITHOUT}, largest"].value)
    never_worse, clearly_below = FIG_3A.targets
    assert judge(never_worse, list(told.values())) is Outcome.MET
    assert judge(clearly_below, list(told.values())) is Outcome.NOT_MEASURED


def test_rates_without_room_are_counted_and_the_rest_is_told(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_optimisation, "Exact", NoRoom)
    told = found(FIG_3A, network)
    assert 1.0 == told["seeds whose last rates no search found room for"].value
    assert OVER_WITHOUT in told
    assert TO_GAIN not in told


def test_both_tell_what_leaders_do_within_the_default_budget(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs whose budget is lifted say nothing of what a user gets who changes nothing."""
    monkeypatch.setattr(thresholds, "PERTURBATIONS", 1)
    monkeypatch.setattr(thresholds, "BETAS", (1.1,))
    monkeypatch.setattr(thresholds, "EVERY_MS", {"": 2_000.0})
    how: list[LeaderParams] = []

    class Watched(Body):
        def __init__(self, *arguments: Any, leaders: LeaderParams, **options: Any) -> None:
            how.append(leaders)
            super().__init__(*arguments, leaders=leaders, **options)

    for module, experiment, rows_of_it in (
        (self_optimisation, FIG_3A, {f"moves, {BY_DEFAULT}", f"{AT_END}, {BY_DEFAULT} over without"}),
        (thresholds, thresholds.TABLE_1, {f"loss, beta 1.1 {BY_DEFAULT}", f"updates, beta 1.1 {BY_DEFAULT}"}),
    ):
        how.clear()
        monkeypatch.setattr(module, "Body", Watched)
        assert rows_of_it <= found(experiment, network).keys()
        assert [(True, None), (True, IMPROVED_LEADER.budget_share), (False, IMPROVED_LEADER.budget_share)] == [
            (each.watch, each.budget_share) for each in how
        ]
        assert not [target.says for target in experiment.targets if BY_DEFAULT in target.says]


def test_a_change_that_leaves_no_room_costs_nobody_anything(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing better was to be had; it ended the whole experiment."""
    monkeypatch.setattr(thresholds, "PERTURBATIONS", 2)
    monkeypatch.setattr(thresholds, "BETAS", (1.1,))
    monkeypatch.setattr(thresholds, "EVERY_MS", {"": 2_000.0})
    monkeypatch.setattr(thresholds, "Exact", NoRoom)
    told = found(thresholds.TABLE_1, network)
    assert (2.0, 0.0) == (told[thresholds.NO_ROOM].value, told["loss, beta 1.1"].value)


def test_a_query_that_is_never_placed_has_not_moved(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told as -1 moves: one was taken off for the first placement."""
    monkeypatch.setattr(Body, "submit", lambda body, flow: None)
    monkeypatch.setattr(Body, "change_flow", lambda body, flow: None)
    told = found(FIG_3A, network)
    assert 0.0 == told["moves, self-optimising"].value
    assert CAP_MS == told["latency at 100 s, without"].value
    monkeypatch.setattr(thresholds, "PERTURBATIONS", 1)
    monkeypatch.setattr(thresholds, "EVERY_MS", {"": 1_000.0})
    assert 0.0 == found(thresholds.TABLE_1, network)["updates, beta 1.1"].value
