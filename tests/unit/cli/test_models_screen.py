"""How models look in a terminal: plots, words and times."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from msgspec import structs
from typer.testing import CliRunner

from services.cli import model_words
from services.cli import models as screen
from services.cli.exits import ExitCode
from services.cli.model_words import headline, points_and_curve
from services.cli.models import score_table
from services.cli.moments import moment_ms
from services.cli.small_plot import HEIGHT, plot
from services.registry.errors import RegistryError
from topics.messages import HotSpotModel, Model, Moments, OperatorMetrics, ScoreModel, Sketch

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


@pytest.mark.parametrize(("in_s", "when"), [(None, "over"), (0.0, "now"), (0.35, "in 0.3 s"), (10.0, "in 10.0 s")])
def test_a_hot_spot_says_when(in_s: float | None, when: str) -> None:
    """Hosts warn of tenths of a second: "in 0 s" was not "now"."""
    model = Model("hotspot/talk/edge-1", 1, 1, 1, None, 1, 0, HotSpotModel("talk", "edge-1", "tcp", in_s, 0.0, 0.9))
    assert f"tcp on edge-1 {when}, " in headline(model)


UNTIL_S = 1_763_264_652


def row(
    ago_s: int, *, segment: str = "talk.aaaa", operator: str = "tcp", host: str = "edge-1", **more: float
) -> object:
    """What a host measured so many seconds before the models' last one."""
    told = {"bytes_in": 0, "partition": 0, "latency_ms": 0.0} | more
    nothing = Moments.rounded(0, 0.0, 0.0)
    return OperatorMetrics(
        host=host,
        flow="talk",
        segment=segment,
        operator=operator,
        partition=int(told["partition"]),
        second=UNTIL_S - 1 - ago_s,
        **dict.fromkeys(("gaps_us", "batch", "service_us", "wait_us"), nothing),
        **dict.fromkeys(("arrivals", "outputs", "lag", "state_bytes", "late", "dropped", "dead_letters"), 0),
        bytes_in=int(told["bytes_in"]),
        bytes_out=0,
        latency_ms=Sketch.of([told["latency_ms"]]) if told["latency_ms"] else None,
    )


def drawn(monkeypatch: pytest.MonkeyPatch, key: str, rows: list[object]) -> model_words.Drawn:
    monkeypatch.setattr(model_words, "read_rows", lambda *given: rows)
    found = points_and_curve(SAMPLES["sample"](key), "")
    assert found is not None
    return found


def test_slack_is_drawn_as_latency_that_was_and_that_is_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the end of the flow: segments before it see less."""
    rows = [row(1, latency_ms=20.0), row(1, segment="talk.bbbb", latency_ms=90.0), row(0, latency_ms=30.0)]
    found = drawn(monkeypatch, "slack/talk", rows)
    assert [(-1.0, 90.0), (0.0, 30.0)] == found.points
    assert found.curve is not None
    assert [120.5, 250.0 - 100.5, 255.25] == [found.curve(x) for x in (0.0, 10.0, 60.0)]
    assert 60.0 == found.until
    assert [(-1.0, 90.0), (0.0, 30.0)] == drawn(monkeypatch, "hotspot/talk", rows).points


def test_what_enters_a_segment_is_drawn_once_however_many_operators_tell_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """They repeat what is their task's; partitions and hosts add up."""
    rows = [
        row(1, bytes_in=100),
        row(1, operator="count", bytes_in=100),
        row(1, partition=1, bytes_in=10),
        row(1, host="edge-2", bytes_in=1),
        row(1, segment="talk.bbbb", bytes_in=5_000),
        row(0, bytes_in=7),
    ]
    assert [(-1.0, 111.0), (0.0, 7.0)] == drawn(monkeypatch, "edge/talk/talk.aaaa", rows).points


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What Redis has, and what hosts warn of; a fault: Kafka does not answer."""
    body = HotSpotModel("talk", "edge-7", "tcp", 0.4, -1.0, 0.9)
    near = Model("hotspot/talk/edge-7", 1, 1, 1, None, 1, 0, body)
    found = SimpleNamespace(near=[near], fault=None)

    def warnings(bootstrap: str, *, now_ms: int, flow: str | None = None) -> list[Model]:
        if found.fault is not None:
            raise found.fault
        return [model for model in found.near if flow in (None, model.body.flow)]

    def kept(redis: object, *, kind: str | None, name: str | None) -> list[Model]:
        return [SAMPLES["sample"](key) for key in SAMPLES["BODIES"] if kind in (None, key.split("/")[0])]

    monkeypatch.setattr(screen, "warnings_of_hosts", warnings)
    monkeypatch.setattr(screen, "read_models", kept)
    monkeypatch.setattr(screen, "points_and_curve", lambda model, bootstrap: None)
    return found


def run(*arguments: str) -> tuple[int, str]:
    where = ["--redis-url", "redis://nowhere", "--bootstrap", "nowhere:1"]
    made = CliRunner().invoke(screen.app, [*arguments, *where])
    return made.exit_code, made.output


@pytest.mark.parametrize(
    ("asked", "is_there"),
    [([], True), (["--kind", "hotspot"], True), (["--kind", "rate"], False), (["--of", "x"], False)],
)
def test_what_hosts_warn_of_is_listed_with_the_models(known: SimpleNamespace, asked: list[str], is_there: bool) -> None:
    """Most warnings are theirs, and Redis has none of them."""
    code, text = run("list", *asked, "--json")
    keys = [model["key"] for model in json.loads(text)["models"]]
    assert (0, is_there) == (code, "hotspot/talk/edge-7" in keys)
    assert sorted(keys) == keys


def test_models_are_listed_also_where_kafka_does_not_answer(known: SimpleNamespace) -> None:
    """What is missing is told."""
    known.fault = RegistryError("cannot read from nowhere:1")
    code, text = run("list", "--kind", "hotspot")
    assert 0 == code
    assert "(warnings of hosts are missing: cannot read from nowhere:1)" in text
    assert "hotspot/talk " in text
    assert "cannot read from nowhere:1" == json.loads(run("list", "--json")[1])["warnings_of_hosts_missing"]


def test_a_warning_of_a_host_can_be_shown(known: SimpleNamespace) -> None:
    code, text = run("show", "hotspot/talk/edge-7")
    assert 0 == code
    assert "tcp on edge-7 in 0.4 s, 90% sure" in text
    code, text = run("show", "hotspot/talk/edge-8")
    assert (ExitCode.FAILURE, True) == (code, "There is no model hotspot/talk/edge-8" in text)
