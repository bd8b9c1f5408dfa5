"""`stigmergy evaluate` and `stigmergy simulate` as a user runs them, on the smallest problems."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from placement.simulator.queries import QueryParams
from services.cli import evaluate, simulate
from services.lab.experiments import EXPERIMENTS, Experiment, Trial, bursty, many_queries, speed
from services.lab.runner import run
from services.lab.samples import Sample, rows

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


def test_series_that_the_experiment_would_ignore_are_refused(tmp_path: Path, monkeypatch) -> None:
    """For the same reason."""
    monkeypatch.setitem(EXPERIMENTS, "ants/quick", Experiment("ants/quick", "?", "-", lambda trial: [], seeds=2))
    result = RUNNER.invoke(evaluate.app, ["ants/quick", "--traces", str(tmp_path)])
    assert result.exit_code == 2
    assert "takes no series of yours" in result.output


def test_bursts_may_be_those_of_the_users_own_series(tmp_path: Path, monkeypatch) -> None:
    """One that is calm but for one step leaves flows alone but for that one."""
    (tmp_path / "calm.csv").write_text("".join(f"{step},{100 + step % 2}\n" for step in range(300)))
    monkeypatch.setattr(bursty, "STEPS", 2)
    monkeypatch.setattr(bursty, "FLOWS", 2)
    factors: list[float] = []
    monkeypatch.setattr(bursty, "faster", lambda flow, factor: (factors.append(factor), flow)[1])
    bursty.BURSTY.trial(Trial(1, traces=tmp_path))
    assert {100 / 100.5, 101 / 100.5} == set(factors)


@pytest.mark.parametrize("name", ["strategies/centralised", "ants/fig-2b"])
def test_a_network_that_is_too_small_for_the_workload_is_told(name: str, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2 and what to do, instead of a traceback."""
    heavy = QueryParams(least_rate_per_ms=2.0, most_rate_per_ms=3.0)
    monkeypatch.setattr(many_queries, "QUERIES", 2)
    monkeypatch.setattr(many_queries, "CHECKPOINTS", (1, 2))
    monkeypatch.setattr(many_queries, "QueryParams", lambda: heavy)
    network = tmp_path / "net.csv"
    network.write_text("0,10,20\n10,0,12\n20,12,0\n")
    result = RUNNER.invoke(evaluate.app, [name, "--seeds", "1", "--topology", str(network)])
    assert result.exit_code == 2, result.output
    assert "too small for the workload" in result.output
    assert "give one with more hosts" in result.output


def test_a_plot_that_nothing_can_draw_is_told_before_the_work(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "ants/quick", Experiment("ants/quick", "?", "-", lambda trial: [], seeds=2))
    result = RUNNER.invoke(evaluate.app, ["ants/quick", "--plot", str(tmp_path / "plot.foo")])
    assert result.exit_code == 2
    assert "end its name in .png" in result.output


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--trace", "/nowhere/x"], "there is no folder"), (["--trace", "x", "--jobs", "2"], "leave --jobs out")],
)
def test_a_trace_that_cannot_be_written_as_asked_is_told_before_the_work(
    options: list[str], says: str, monkeypatch, tmp_path: Path
) -> None:
    """The first was a traceback, the second ran on one processor without a word."""
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(simulate.app, ["life", "--seeds", "2", *options])
    assert result.exit_code == 2
    assert says in result.output


def test_runs_of_the_simulator_on_the_users_network_do_not_share_rows(tmp_path: Path, monkeypatch) -> None:
    """Two of them had the same number of hosts and queries, and were told as one."""
    monkeypatch.setattr(speed, "RUNS", {"both": (60, 1), "queries": (600, 1), "": (600, 2)})
    monkeypatch.setattr(speed, "STEADY_MS", 1.0)
    network = tmp_path / "net.csv"
    network.write_text("0,10,20\n10,0,12\n20,12,0\n")
    found = rows(speed.SPEED.trial(Trial(1, network)))
    assert {1} == {row.repetitions for row in found}
    assert {"queries"} == {row.baseline for row in found} - {None}


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


def test_the_command_in_a_result_file_can_be_run_as_it_stands(tmp_path: Path, monkeypatch) -> None:
    """Also where the user's file has a space in its name: a recipe that cooks something else is worse than none."""
    monkeypatch.setitem(EXPERIMENTS, "ants/quick", Experiment("ants/quick", "?", "-", lambda trial: [], seeds=2))
    network, found = tmp_path / "sp ace.csv", tmp_path / "found.json"
    network.write_text("0,10,20\n10,0,12\n20,12,0\n")
    assert RUNNER.invoke(evaluate.app, ["ants/quick", "--topology", str(network), "--json", str(found)]).exit_code == 0
    words = shlex.split(json.loads(found.read_text())["command"])
    assert ["--topology", str(network)] == words[-2:]


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
