"""Where the exact search ends without a proof, its bound stands in for the optimum, and a row says how often."""

from dataclasses import replace
from pathlib import Path

import pytest

from placement.model import Problem
from placement.strategies import Exact
from placement.strategies.protocol import Chance, Proposal
from services.lab.experiments import Experiment, Trial, self_optimisation, thresholds
from services.lab.experiments.optimum import UNPROVEN
from services.lab.results import Row
from services.lab.samples import rows


class HalfProven:
    """Finds the optimum, and can only prove that nothing is better than half of it."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        best = Exact().place(problem, rng=rng)
        return replace(best, proven=False, bound_ms=best.cost_ms / 2)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "net.csv"
    file.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(12)) for b in range(12)))
    return file


def found(experiment: Experiment, network: Path) -> dict[str, Row]:
    return {row.measure: row for row in rows(experiment.trial(Trial(1, network)))}


def test_figure_3a_holds_latency_against_the_bound(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimum that is none would make ants look better than they are."""
    measure = "latency at 100 s, self-optimising over optimum"
    proven = found(self_optimisation.FIG_3A, network)
    monkeypatch.setattr(self_optimisation, "Exact", HalfProven)
    unproven = found(self_optimisation.FIG_3A, network)
    assert pytest.approx(2 * proven[measure].value) == unproven[measure].value
    assert (0.0, 1.0) == (proven[UNPROVEN].value, unproven[UNPROVEN].value)


def test_table_1_counts_loss_from_the_bound(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "PERTURBATIONS", 2)
    monkeypatch.setattr(thresholds, "BETAS", (1.1,))
    monkeypatch.setattr(thresholds, "EVERY_MS", {"": 2_000.0})
    proven = found(thresholds.TABLE_1, network)
    monkeypatch.setattr(thresholds, "Exact", HalfProven)
    unproven = found(thresholds.TABLE_1, network)
    assert proven["loss, beta 1.1"].value < unproven["loss, beta 1.1"].value
    assert (0.0, 2.0) == (proven[UNPROVEN].value, unproven[UNPROVEN].value)
