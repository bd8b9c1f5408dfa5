"""Samples become rows: means with confidence over seeds, percentiles, sums."""

import pytest

from services.lab.experiments import EXPERIMENTS
from services.lab.samples import Sample, Statistic, ratio_samples, rows

NAMES = {
    "ants/fig-2a", "ants/fig-2b", "ants/fig-3a", "ants/fig-3b", "ants/table-1", "ants/fig-4", "ants/real",
    "ants/bursty", "ants/faults", "ants/ablation", "ants/links", "queueing/error", "models/forecast",
    "strategies/centralised", "simulator/speed",
    "models/hotspots", "models/hotspots-live", "models/execution",
    *(f"synergy/ch3-fig-{number}" for number in range(6, 19)),
    "synergy/ch3-table-19", "synergy/ch3-table-20",
    *(f"synergy/ch3-fig-{number}" for number in range(21, 26)),
}  # fmt: skip


def test_every_experiment_can_be_asked_for() -> None:
    """One for each figure and table of the paper, what goes beyond it, and the models that decisions stand on."""
    assert set(EXPERIMENTS) == NAMES


def test_a_mean_has_its_confidence_interval_over_seeds() -> None:
    """Two seeds with means 1 and 3: mean 2, half width 12.71 (Student's t) * sqrt(2) / sqrt(2)."""
    samples = [Sample("m", value, "ms", seed=seed) for seed, value in ((1, 0.0), (1, 2.0), (2, 3.0))]
    (row,) = rows(samples)
    assert row.value == pytest.approx(5 / 3)
    assert row.spread == pytest.approx((2 - 12.706, 2 + 12.706), rel=1e-4)
    assert row.repetitions == 3


def test_other_statistics_have_their_range() -> None:
    """A percentile of all samples, a sum, a maximum."""
    samples = [Sample("s", float(v), "x", None, Statistic.SUM, v) for v in range(4)]
    samples += [Sample("p", float(v), "x", None, Statistic.P95, v) for v in range(101)]
    total, high = rows(samples)
    assert (total.value, total.spread) == (6.0, (0.0, 3.0))
    assert high.value == pytest.approx(95.0)


def test_points_of_a_plot_are_no_rows() -> None:
    """They have no measure."""
    assert rows([Sample("", 1.0, "ms", series="ants", x=1.0)]) == []


def test_a_ratio_is_told_as_mean_and_as_percentile() -> None:
    """Targets ask for both."""
    assert ["r, mean", "r, 95th percentile"] == [
        row.measure for row in rows(ratio_samples("r", 1.0, seed=1, baseline="b"))
    ]
