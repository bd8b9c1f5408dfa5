"""`stigmergy evaluate` and `stigmergy simulate` as a user runs them, on the smallest problems."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.cli import evaluate, simulate
from services.lab.experiments import EXPERIMENTS, Experiment, Trial
from services.lab.runner import run
from services.lab.samples import Sample

RUNNER = CliRunner()


def test_list_shows_every_experiment() -> None:
    """A user sees what can be asked."""
    shown = RUNNER.invoke(evaluate.app, ["--list"]).output
    assert all(name in shown for name in EXPERIMENTS)


def test_an_unknown_experiment_is_answered_with_the_known_ones() -> None:
    """Exit code 2: usage."""
    result = RUNNER.invoke(evaluate.app, ["ants/fig-9"])
    assert result.exit_code == 2


def test_a_bad_topology_is_told_with_what_to_do(tmp_path: Path) -> None:
    """Exit code 2 and no traceback, whichever command reads it."""
    bad = tmp_path / "net.csv"
    bad.write_text("0,ten\n10,0\n")
    for app, words in ((evaluate.app, ["ants/real"]), (simulate.app, ["place"])):
        result = RUNNER.invoke(app, [*words, "--topology", str(bad)])
        assert result.exit_code == 2, result.output
        assert not isinstance(result.exception, ValueError)


def test_a_network_that_the_experiment_would_ignore_is_refused(tmp_path: Path) -> None:
    """Else a user takes the numbers for those of his network."""
    network = tmp_path / "net.csv"
    network.write_text("0,10,20\n10,0,12\n20,12,0\n")
    result = RUNNER.invoke(evaluate.app, ["queueing/error", "--topology", str(network)])
    assert result.exit_code == 2
    assert "takes no network of yours" in result.output


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(option: str, monkeypatch, tmp_path: Path) -> None:
    """An hour of seeds must not end with a traceback and nothing on the disk."""

    def work(trial: Trial) -> list[Sample]:
        raise AssertionError("it began to work")

    monkeypatch.setitem(EXPERIMENTS, "ants/quick", Experiment("ants/quick", "?", "-", work, seeds=2))
    result = RUNNER.invoke(evaluate.app, ["ants/quick", option, str(tmp_path / "nowhere" / "found")])
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def test_a_plot_without_its_library_is_told_before_the_work(monkeypatch, tmp_path: Path) -> None:
    """It is an extra, and may not be installed."""

    def work(trial: Trial) -> list[Sample]:
        raise AssertionError("it began to work")

    monkeypatch.setitem(EXPERIMENTS, "ants/quick", Experiment("ants/quick", "?", "-", work, seeds=2))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = RUNNER.invoke(evaluate.app, ["ants/quick", "--plot", str(tmp_path / "plot.png")])
    assert result.exit_code == 2
    assert "plots need matplotlib" in result.output


def test_two_processors_find_what_one_finds(tmp_path: Path) -> None:
    """--jobs may change the time and nothing else, down to the order of the samples."""
    network = tmp_path / "net.csv"
    network.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(5)) for b in range(5)))
    trials = [Trial(seed, network) for seed in (3, 1, 2)]
    alone = run("ants/real", trials, jobs=1)
    assert alone == run("ants/real", trials, jobs=2)
    assert {1, 2, 3} == {sample.seed for sample in alone}


def test_results_and_plot_are_written(tmp_path: Path, monkeypatch) -> None:
    """The file has the shape of DESIGN section 11: command, version, machine, seeds, rows."""
    quick = Experiment(
        "ants/quick", "?", "-", lambda t: [Sample("m", float(t.seed), "ms", seed=t.seed, series="s", x=1.0)], seeds=2
    )
    monkeypatch.setitem(EXPERIMENTS, "ants/quick", quick)
    found, plot = tmp_path / "found.json", tmp_path / "plot.png"
    arguments = ["ants/quick", "--seeds", "3", "--first-seed", "4", "--json", str(found), "--plot", str(plot)]
    assert RUNNER.invoke(evaluate.app, arguments).exit_code == 0
    result = json.loads(found.read_text())
    assert {"command", "version", "machine", "seeds", "rows"} == set(result) - {"commit"}  # of a checkout only
    assert result["seeds"] == [4, 5, 6]
    assert result["rows"][0] | {"spread": None} == {
        "measure": "m", "value": 5.0, "unit": "ms", "baseline": None, "spread": None, "repetitions": 3,
    }  # fmt: skip
    assert plot.stat().st_size > 1_000


def test_place_writes_a_trace_and_draws_the_pheromone(tmp_path: Path) -> None:
    """What happened can be looked at, event by event and on the map."""
    network, trace, plot = tmp_path / "net.csv", tmp_path / "trace.jsonl", tmp_path / "map.png"
    network.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(8)) for b in range(8)))
    arguments = ["place", "--tasks", "3", "--topology", str(network), "--trace", str(trace), "--plot", str(plot)]
    result = RUNNER.invoke(simulate.app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "of the proven optimum" in result.output
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert {"RoutingAnt", "ScoutingAnt", "ScoutReport", "Published"} <= {line["what"] for line in lines}
    assert plot.stat().st_size > 1_000
