"""What a bench command prints can be read in an ordinary terminal, and what it refuses it refuses before it runs."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from services.cli.bench import table
from services.cli.exits import ExitCode
from services.cli.main import app
from services.lab.results import Row, results


def test_figures_are_whole_in_a_narrow_terminal() -> None:
    """The words of a measure wrap; a figure that is cut off is none."""
    row = Row.of("a measure with a name that is longer than " + "eighty columns " * 5, [1_234_567, 7_654_321], "rows/s")
    printed = io.StringIO()
    Console(file=printed, width=80).print(table(results("stigmergy bench it", [row], seeds=[])))
    assert {"4,444,444", "1,234,567", "7,654,321", "rows/s"} <= set(printed.getvalue().split())


def test_a_small_share_keeps_its_digits() -> None:
    """Half a per cent must not be read as one."""
    printed = io.StringIO()
    row = Row.of("share of ants", [0.0051], "share")
    Console(file=printed, width=80).print(table(results("stigmergy bench it", [row], seeds=[])))
    assert "0.0051" in printed.getvalue()


@pytest.mark.parametrize(
    ("arguments", "measured"),
    [
        (["operators"], "services.lab.bench_operators.measure"),
        (["dataplane"], "services.lab.dataplane.measures.measure"),
        (["cluster", "--only", "herd"], "services.lab.cluster.measures.measure"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    measured: str,
) -> None:
    """It was told by a traceback after an hour of measuring, whose results were gone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measured, _never)
    ended = CliRunner().invoke(app, ["bench", *arguments, "--json", "missing/x.json"])
    assert ExitCode.USAGE == ended.exit_code, ended
    assert "there is no folder missing" in ended.output + capsys.readouterr().err


@pytest.mark.parametrize("sides", ["Flink", "bare loop,Kafka Streams"])
def test_an_opponent_on_the_jvm_is_not_left_out_without_a_word(monkeypatch: pytest.MonkeyPatch, sides: str) -> None:
    """Who asks for Flink alone got a table in which nobody competes."""
    monkeypatch.setattr("services.lab.dataplane.measures.measure", _never)
    ended = CliRunner().invoke(app, ["bench", "dataplane", "--sides", sides])
    assert ExitCode.USAGE == ended.exit_code, ended
    assert "--jvm" in ended.output


def _never(*_: Any, **__: Any) -> list[Row]:
    raise AssertionError("it runs")
