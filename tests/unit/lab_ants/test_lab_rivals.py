"""Figures 2b and 4: rivals without room, rows that can't be had, and how times grow."""

import math
from pathlib import Path

import pytest

from placement.model import Host, Link, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.strategies import Producer
from services.lab.experiments import Trial, ablation_life, many_queries, scale
from services.lab.experiments.many_queries import DECIDED, FIG_2B, INCREMENTAL, SPENT
from services.lab.samples import Sample, rows

NETWORK = RoutedNetwork((Host("a", 1.0), Host("b", 1.0)), (Link("a", "b", 10.0),))


def query(name: str, service_vwu: float) -> Problem:
    source = Source("in", "a", 0.1, message_bytes=1.0)
    return Problem(NETWORK, (chain(name, source, (Task("o", service_vwu),), Sink("out", "a")),))


def test_a_rival_without_room_is_counted_and_others_are_still_compared() -> None:
    """One that found no room for all ended the whole seed."""
    told = rows(many_queries._rival("random", Producer(), query("f", 20.0), 100, ants_ms=9.0, seed=1))
    assert [("seeds in which it finds no room for all of 100 queries, random", 1.0)] == [
        (row.measure, row.value) for row in told
    ]
    fits = rows(many_queries._rival("random", Producer(), query("f", 2.0), 100, ants_ms=9.0, seed=1))
    assert ["mean latency of 100 queries, random", "ants over it, 100 queries"] == [row.measure for row in fits]


def test_the_centralised_placer_is_timed_on_the_queries_that_ants_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was timed on all that were asked for: more work than the ants had, or a start without room."""
    network = tmp_path / "net.csv"
    network.write_text("0,10,20\n10,0,12\n20,12,0\n")
    monkeypatch.setattr(many_queries, "QUERIES", 4)
    monkeypatch.setattr(many_queries, "CHECKPOINTS", (2, 4))
    monkeypatch.setattr(many_queries, "_estimate_checked", lambda seed: [])
    found = many_queries._Placed({2: {"q001": 9.0}, 4: {"q001": 9.0, "q003": 8.0}}, [1.0] * 4, [1.0] * 4)
    monkeypatch.setattr(many_queries, "_place_by_ants", lambda *_: found)
    timed: dict[int, list[str]] = {}

    def times_of(problem: Problem, count: int, *_: float) -> list[Sample]:
        timed[count] = [flow.name for flow in problem.flows]
        return []

    monkeypatch.setattr(many_queries, "_times", times_of)
    FIG_2B.trial(Trial(1, network))
    assert {2: ["q001"], 4: ["q001", "q003"]} == timed


def times(tasks: float, decided: float, spent: float, ours: float, where: str) -> list[Sample]:
    return [
        Sample(f"tasks in the graph of {where}", tasks, "tasks"),
        Sample(f"{DECIDED}, {where}", decided, "s"),
        Sample(f"{SPENT}, {where}", spent, "s"),
        Sample(f"{INCREMENTAL}, {where}", ours, "s"),
    ]


def test_where_lines_cross_follows_from_how_they_grow() -> None:
    """Ants take 0.8 s at any size, the descent 0.4 s at 800 tasks and twice that at twice as many."""
    samples = times(200.0, 0.8, 0.2, 0.1, "25 queries") + times(800.0, 0.8, 0.2, 0.4, "100 queries")
    told = {row.measure: row.value for row in rows(many_queries._growths(samples, 1))}
    assert pytest.approx(0.0) == told[f"growth as a power of the tasks: {DECIDED}"]
    assert pytest.approx(1.0) == told[f"growth as a power of the tasks: {INCREMENTAL}"]
    crossing = "tasks from which the incremental descent takes longer, extrapolated"
    assert pytest.approx(1_600.0) == told[f"{crossing}: {DECIDED}"]
    assert pytest.approx(400.0) == told[f"{crossing}: {SPENT}"]


def test_a_network_that_is_full_early_tells_no_growth() -> None:
    samples = times(200.0, 0.8, 0.2, 0.1, "25 queries") + times(200.0, 0.8, 0.2, 0.1, "100 queries")
    assert [] == many_queries._growths(samples, 1)
    assert [] == many_queries._growths([], 1)


def test_the_time_to_decide_is_judged_against_the_descent_of_the_paper() -> None:
    """1/20 of what our own descent takes is less than a round trip."""
    assert not [target.says for target in FIG_2B.targets if "incremental" in target.says]


def test_figure_4_tells_whether_success_grows_as_the_optimum_does() -> None:
    ratios = {200: 0.98, 400: 1.0, 600: 0.99}
    samples = [Sample(f"ants over the optimum in turn, {size} hosts", ratio, "ratio") for size, ratio in ratios.items()]
    told = {row.measure: row.value for row in rows(scale._shape(samples, 1))}
    assert pytest.approx(1.0 / 0.98) == told[scale.shape_row(400)]
    assert pytest.approx(0.99 / 0.98) == told[scale.shape_row(600)]
    assert {scale.shape_row(400), scale.shape_row(600)} <= {
        target.says.split(": ")[0] for target in scale.FIG_4.targets
    }


def test_figure_4_leaves_out_what_can_not_be_divided() -> None:
    """Nobody places anything, nothing crosses a link, nothing ran on 200 hosts."""
    told = scale._rivals(query("f", 20.0), 0, 1, 2)
    assert not [sample.measure for sample in told if sample.unit == "ratio"]
    assert [] == scale._control_shares(5.0, 9.0, 0.0, "2 hosts", 1)
    assert [] == scale._shape([], 1)


def test_figure_4_compares_with_the_descent_over_all_queries_too() -> None:
    told = {sample.measure: sample.value for sample in scale._rivals(query("f", 2.0), 1, 1, 2)}
    assert 1.0 == told["success rate of centralised, all together, 2 hosts"]
    assert 1.0 == told["ants over the best strategy, 2 hosts"]


def test_a_life_in_which_nothing_runs_has_no_latency() -> None:
    weight = {"f": 2.0}
    assert [] == ablation_life._latencies("without moves", weight, {}, {"f": 3.0}, 1)
    alone = ablation_life._latencies("without moves", weight, {"f": 3.0}, {}, 1)
    assert [3.0] == [sample.value for sample in alone]
    assert math.isfinite(ablation_life._latencies("x", weight, {"f": 3.0}, {"f": 2.0}, 1)[1].value)
