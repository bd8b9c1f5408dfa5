"""How models look in a terminal: plots, words and times."""

import runpy
from pathlib import Path

import pytest
import typer
from msgspec import structs

from services.cli.model_words import headline
from services.cli.models import score_table
from services.cli.moments import moment_ms
from services.cli.small_plot import HEIGHT, plot
from topics.messages import ScoreModel

SAMPLES = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "make_models.py"))


def test_a_plot_has_points_and_a_curve_through_them() -> None:
    """Two points at the ends of a line: they lie on it, and the axes say from where to where."""
    lines = plot([(0.0, 0.0), (10.0, 100.0)], lambda x: 10 * x, x_unit="s", y_unit="1/s")
    assert HEIGHT + 3 == len(lines)
    assert lines[1].startswith("100 │")
    assert lines[1].rstrip().endswith("┼")
    assert lines[HEIGHT].startswith("  0 │┼")
    assert lines[-1].endswith("10 s")


def test_a_plot_may_go_on_beyond_its_points_and_have_none_at_all() -> None:
    """A forecast begins where the measured points end; a single point is a plot, too."""
    lines = plot([(-1.0, 5.0), (0.0, 5.0)], lambda _: 5.0, until=10.0, x_unit="s", y_unit="1/s")
    assert lines[-1].endswith("10 s")
    assert [] == plot([], x_unit="s", y_unit="1/s")
    assert plot([(3.0, 0.0)], x_unit="s", y_unit="1/s")


@pytest.mark.parametrize("key", list(SAMPLES["BODIES"]))
def test_every_kind_has_a_headline(key: str) -> None:
    """`stigmergy models list` shows one line for each."""
    assert headline(SAMPLES["sample"](key))


def test_scores_have_a_column_for_each_figure_that_one_of_them_has() -> None:
    """Warnings have a precision and a recall; without any, nobody has to read past empty columns."""
    rates, warnings = ScoreModel("forecast", "1 s", 1_200, 0.25, 0.5), ScoreModel("hotspot", "all", 4)
    assert ["model", "what", "predictions", "WAPE", "last value's"] == [
        column.header for column in score_table([rates]).columns
    ]
    judged = structs.replace(warnings, precision=0.75, recall=1.0, lead_s=4.0)
    table = score_table([rates, judged])
    assert ["precision", "recall", "lead"] == [column.header for column in table.columns][-3:]
    assert [["-", "75.0%"], ["-", "100.0%"], ["-", "4.0 s"]] == [list(column.cells) for column in table.columns][-3:]


def test_times_are_now_ago_or_iso() -> None:
    """In UTC, unless they say otherwise."""
    assert 5_000 == moment_ms("now", 5_000)
    assert 900_000 == moment_ms("-15m", 1_800_000)
    assert 1_769_860_800_000 == moment_ms("2026-01-31T12:00:00", 0)
    assert 1_769_857_200_000 == moment_ms("2026-01-31T12:00:00+01:00", 0)
    with pytest.raises(typer.BadParameter, match="write now, -15m"):
        moment_ms("yesterday", 0)
