"""The page of evidence says of each target whether the rows reach it."""

from pathlib import Path

import pytest

from services.lab import evidence
from services.lab.experiments import EXPERIMENTS
from services.lab.results import Row, read, results, write
from services.lab.targets import AtLeast, AtMost, InOrder, Outcome, judge, verdict


def row(measure: str, value: float, *, high: float = 0.0, baseline: str | None = None, repetitions: int = 10) -> Row:
    return Row(measure=measure, value=value, unit="x", baseline=baseline, spread=(0.0, high), repetitions=repetitions)


def test_a_row_is_held_against_its_bound() -> None:
    assert verdict(AtMost("m", 1.02), [row("m", 1.02)]) == "met: m: at most 1.02; it is 1.02"
    assert verdict(AtMost("m", 1.02), [row("m", 1.03)]) == "**missed**: m: at most 1.02; it is 1.03"
    assert verdict(AtLeast("m", 0.98), [row("m", 0.97)]) == "**missed**: m: at least 0.98; it is 0.97"


def test_a_figure_that_is_not_finite_is_not_measured() -> None:
    """It was called missed, as if ants had failed at something."""
    line = verdict(AtMost("m", 1.0), [row("m", float("nan"))])
    assert line == "not measured: m: at most 1; m is no number: no seed had anything to take it of"
    assert judge(AtLeast("m", 1.0), [row("m", float("inf"))]) is Outcome.NOT_MEASURED
    order = InOrder(("m", "n"), rising=True)
    assert judge(order, [row("m", 1.0), row("n", float("nan"))]) is Outcome.NOT_MEASURED


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


def test_what_is_no_better_in_any_seed_is_not_surely_better() -> None:
    """Ten seeds in which nothing moved have the interval [1, 1], which passed for 'below 1'."""
    sure = AtMost("m", 1.0, surely=True)
    line = verdict(sure, [row("m", 1.0, high=1.0)])
    assert line == "**missed**: m: below 1 with its whole interval; it is 1 up to 1"


def test_one_seed_has_no_interval_to_be_sure_by() -> None:
    sure = AtMost("m", 1.0, surely=True)
    assert verdict(sure, [row("m", 0.5, high=0.5, repetitions=1)]).endswith("one seed has no interval; it is 0.5")
    assert judge(sure, [row("m", 0.5, high=0.5, repetitions=1)]) is Outcome.NOT_MEASURED


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


def line_of(page: str, name: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(f"| [{name}]"))


def test_the_page_begins_with_one_line_an_experiment(tmp_path: Path) -> None:
    """A reader should see what is missed, not run or old without reading two thousand lines."""
    rows = [row("moves in the last quarter of 0-20 s", 1.0), row("moves in the last quarter of 20-60 s", 0.0)]
    write(results("c", rows, seeds=[1, 2], began_at="0123456789abcdef"), tmp_path / "ants-fig-3b.json")
    write(results("c", [], seeds=[1], began_at="abc"), tmp_path / "ants-links.json")
    page = evidence.page(tmp_path)
    head = page[: page.index("## ants/fig-2a")]
    found = "1 met, 1 **missed**, 1 not measured"
    assert f"| [ants/fig-3b](#antsfig-3b) | {found} | 2 | `0123456789` |" == line_of(head, "ants/fig-3b")
    assert "| [ants/links](#antslinks) | none | 1 | `abc` |" == line_of(head, "ants/links")
    assert "| [ants/fig-4](#antsfig-4) | not run |  |  |" == line_of(head, "ants/fig-4")
    lives = 1  # no experiment, but measured like one
    assert len(EXPERIMENTS) + lives == sum(line.startswith("| [") for line in head.splitlines())


def test_results_without_a_commit_are_called_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows which code wrote them."""
    monkeypatch.setattr("services.lab.results.commit", lambda: None)
    write(results("c", [], seeds=[1]), tmp_path / "ants-links.json")
    page = evidence.page(tmp_path)
    assert line_of(page, "ants/links").endswith("| none: stale, run again |")
    assert "`c`, at commit none: stale, run again" in page


def test_rows_that_are_not_finite_can_be_shown(tmp_path: Path) -> None:
    """JSON has no nan: it is written as null."""
    rows = [row("mean latency of ants, 200 hosts", float("nan"), high=float("inf"))]
    write(results("c", rows, seeds=[1]), tmp_path / "ants-fig-4.json")
    assert "| mean latency of ants, 200 hosts | nan | 0 | nan | x |  |" in evidence.page(tmp_path)


def test_kept_results_have_the_rows_that_targets_are_about() -> None:
    """A target whose row was renamed would be told as not measured for ever."""
    kept = Path(__file__).parents[3] / "docs" / "evidence"
    names = "ants/fig-2a", "ants/fig-2b", "ants/fig-3a", "ants/fig-3b", "ants/table-1", "ants/fig-4", "ants/real"
    for name in (*names, "ants/bursty", "ants/faults", "strategies/centralised", "simulator/speed", "models/forecast"):
        found = read(kept / f"{name.replace('/', '-')}.json")
        assert [] == [target.says for target in EXPERIMENTS[name].targets if not target.found(found.rows)]
