"""The page of evidence says of each target whether the rows reach it."""

from pathlib import Path

import pytest

from services.lab import evidence
from services.lab.experiments import EXPERIMENTS
from services.lab.results import Row, read, results, write
from services.lab.targets import AtLeast, AtMost, InOrder, verdict


def row(measure: str, value: float, *, high: float = 0.0, baseline: str | None = None) -> Row:
    return Row(measure=measure, value=value, unit="x", baseline=baseline, spread=(0.0, high), repetitions=1)


def test_a_row_is_held_against_its_bound() -> None:
    assert verdict(AtMost("m", 1.02), [row("m", 1.02)]) == "met: m: at most 1.02; it is 1.02"
    assert verdict(AtMost("m", 1.02), [row("m", 1.03)]) == "**missed**: m: at most 1.02; it is 1.03"
    assert verdict(AtLeast("m", 0.98), [row("m", 0.97)]) == "**missed**: m: at least 0.98; it is 0.97"


def test_a_figure_that_is_not_finite_meets_nothing() -> None:
    """Nothing was measured that could be below a bound."""
    assert verdict(AtMost("m", 1.0), [row("m", float("nan"))]).startswith("**missed**")


def test_of_rows_of_one_name_that_against_the_named_baseline_counts() -> None:
    rows = [row("m", 0.01, baseline="slow"), row("m", 3.0, baseline="fast")]
    assert verdict(AtMost("m", 0.05, "slow"), rows).startswith("met")
    assert verdict(AtMost("m", 0.05, "fast"), rows).startswith("**missed**: m, against fast: at most 0.05; it is 3")


def test_what_must_be_sure_needs_all_of_its_interval_below_the_bound() -> None:
    """'Clearly better' is not shown by a mean alone."""
    sure = AtMost("m", 1.0, surely=True)
    assert verdict(sure, [row("m", 0.94, high=0.99)]).startswith("met")
    assert verdict(sure, [row("m", 0.94, high=1.03)]).endswith("it is 0.94 up to 1.03")
    assert verdict(sure, [row("m", 0.94, high=1.03)]).startswith("**missed**")


@pytest.mark.parametrize(("values", "rising", "word"), [
    ((1, 2, 2), True, "met"), ((1, 3, 2), True, "**missed**"),
    ((3, 1, 1), False, "met"), ((3, 4, 1), False, "**missed**"),
])  # fmt: skip
def test_rows_have_to_be_in_order(values: tuple[int, ...], rising: bool, word: str) -> None:
    rows = [row(f"m{k}", float(value)) for k, value in enumerate(values)]
    assert verdict(InOrder(("m0", "m1", "m2"), rising=rising), rows).startswith(word)


def test_a_row_that_is_not_there_is_told() -> None:
    """An older result file has not all of them."""
    assert verdict(AtMost("m", 1.0), []) == "not measured: m: at most 1"
    assert verdict(InOrder(("m", "n"), rising=True), [row("m", 1.0)]).startswith("not measured")


def test_the_page_tells_a_missed_target(tmp_path: Path) -> None:
    rows = [row("moves in the last quarter of 0-20 s", 1.0)]
    write(results("c", rows, seeds=[1]), tmp_path / "ants-fig-3b.json")
    page = evidence.page(tmp_path)
    assert "- **missed**: moves in the last quarter of 0-20 s: at most 0; it is 1\n" in page
    assert "- not measured: moves in the last quarter of 20-60 s" in page


def test_rows_that_are_not_finite_can_be_shown(tmp_path: Path) -> None:
    """JSON has no nan: it is written as null."""
    rows = [row("mean latency of ants, 200 hosts", float("nan"), high=float("inf"))]
    write(results("c", rows, seeds=[1]), tmp_path / "ants-fig-4.json")
    assert "| mean latency of ants, 200 hosts | nan | 0 | nan | x |  |" in evidence.page(tmp_path)


def test_kept_results_have_the_rows_that_targets_are_about() -> None:
    """A target whose row was renamed would be told as not measured for ever."""
    kept = Path(__file__).parents[3] / "docs" / "evidence"
    for name in ("ants/fig-2a", "ants/fig-2b", "ants/fig-3a", "ants/fig-3b", "ants/real", "strategies/centralised"):
        found = read(kept / f"{name.replace('/', '-')}.json")
        assert [] == [target.says for target in EXPERIMENTS[name].targets if not target.found(found.rows)]
