"""Figures 2b and 4: rivals without room, rows that can't be had, and how times grow."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from placement.leader_params import IMPROVED_LEADER
from placement.model import Host, Link, Placement, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.simulator.body import Body
from placement.simulator.traffic import Traffic
from placement.strategies import Producer
from services.lab.chance import seeded
from services.lab.experiments import Trial, ablation_life, many_queries, scale
from services.lab.experiments.many_queries import DECIDED, FIG_2B, INCREMENTAL, SPENT
from services.lab.experiments.scratch_descent import descend
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
    found = many_queries._Placed({2: {"q001": 9.0}, 4: {"q001": 9.0, "q003": 8.0}}, [1.0] * 4, [1.0] * 4)
    monkeypatch.setattr(many_queries, "_place_by_ants", lambda *_: found)
    timed: dict[int, list[str]] = {}

    def times_of(problem: Problem, count: int, *_: float) -> list[Sample]:
        timed[count] = [flow.name for flow in problem.flows]
        return []

    monkeypatch.setattr(many_queries, "_times", times_of)
    samples = FIG_2B.trial(Trial(1, network))
    assert {2: ["q001"], 4: ["q001", "q003"]} == timed
    assert [] == [sample.measure for sample in samples if "small case" in sample.measure], "it has a network of its own"
    again = [sample.measure for sample in samples if "of 2 to 8 tasks" in sample.measure]
    assert "mean latency of 100 queries, of 2 to 8 tasks, ants" in again
    assert "mean latency of 100 queries, of 2 to 8 tasks, sequential optimum" in again
    assert f"mean latency of 100 queries, {many_queries.BOUND}, of 2 to 8 tasks" in again


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


def test_the_time_to_decide_is_judged_against_the_descent_of_the_paper_as_it_was_run() -> None:
    """1/20 of what our own descent takes is less than a round trip, and an estimate is no measurement."""
    times_judged = [target.says for target in FIG_2B.targets if "time over it" in target.says]
    assert 4 == len(times_judged)
    assert all(many_queries.MEASURED in says for says in times_judged)
    told = rows([each for count in (25, 100) for each in many_queries._measured(query("f", 2.0), count, 0.0, 1e-6, 1)])
    assert 4 == sum(bool(target.found(told)) for target in FIG_2B.targets)
    assert many_queries.STOPPED_AFTER > 20  # else one that was stopped would tell nothing


@pytest.mark.parametrize(("decided_s", "ended"), [(60.0, True), (0.0, False)])
def test_a_descent_from_scratch_runs_to_its_end_or_until_it_is_stopped(decided_s: float, ended: bool) -> None:
    """Stopped after 25 times what ants take, it tells that they are below 1/25; ended, by how much exactly."""
    spent_s = decided_s / 2 or 1e-6
    told = rows(many_queries._measured(query("f", 2.0), 25, decided_s, spent_s, 1))
    found = {row.measure: row.value for row in told}
    assert float(not ended) == found["seeds in which the descent from scratch had not ended, 25 queries"]
    took_s = found[f"processor time of centralised, {many_queries.MEASURED}, 25 queries"]
    assert pytest.approx(decided_s / took_s) == found["simulated decision time over it, 25 queries"]
    assert pytest.approx(spent_s / took_s) == found["processor time over it, 25 queries"]
    if not ended:
        assert found["processor time over it, 25 queries"] <= 1 / many_queries.STOPPED_AFTER


def test_a_descent_from_scratch_that_is_stopped_says_how_far_it_came() -> None:
    problem = query("f", 2.0)
    start = Placement.of({("f", "o"): "b"})
    stopped = descend(problem, start, most_s=0.0)
    assert (stopped.ended, stopped.moves, stopped.pricings) == (False, 0, 1)
    done = descend(problem, start)
    assert (done.ended, done.moves, done.placement.hosts["f", "o"]) == (True, 1, "a")


def test_ants_are_told_over_a_bound_that_holds_for_all_queries_together() -> None:
    """The sequential optimum places query after query; all together something better may exist."""
    problem = query("f", 2.0)
    told = {row.baseline: row.value for row in rows(many_queries._over_bound(problem, 9.0, 1))}
    assert 9.0 / 2.0 == pytest.approx(told[many_queries.BOUND])


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


def test_figure_4_tells_how_often_leaders_looked_while_traffic_was_counted() -> None:
    """Of 30 leaders 19 had sent no ants in the time whose control traffic was told to be small."""
    told = {sample.measure: sample.value for sample in scale._watching([0, 1, 5], "200 hosts", 1)}
    where = "per leader in steady state"
    assert (2.0, 0.0) == (
        told[f"rounds of watching {where}, mean, 200 hosts"],
        told[f"rounds of watching {where}, least, 200 hosts"],
    )
    assert pytest.approx(1 / 3) == told["leaders that sent no round in steady state, 200 hosts"]
    assert [] == scale._watching([], "200 hosts", 1)


def test_a_leader_is_counted_by_the_rounds_that_it_sent() -> None:
    body = Body(NETWORK, chance=seeded(1), leaders=replace(IMPROVED_LEADER, budget_share=None))
    body.acquaint()
    body.submit(query("f", 2.0).flows[0])
    body.run_until_settled()
    before = scale._rounds(body)
    body.run_for(4 * IMPROVED_LEADER.watch_every_ms)
    assert 3 <= scale._rounds(body)["f"] - before["f"] <= 5


def test_control_traffic_is_judged_in_both_sizes() -> None:
    """The live form is twice as large; a page that judged the compact one alone kept silent on it."""
    judged = {target.says for target in scale.FIG_4.targets}
    for measure in (scale.SHARE, scale.LIVE_SHARE):
        assert {f"{measure}, 200 hosts: at most 0.01", f"{measure}, 600 hosts: at most 0.02"} <= judged
    assert {f"{scale.SHARE}, 2 hosts", f"{scale.LIVE_SHARE}, 2 hosts"} == {
        sample.measure for sample in scale._control_shares(5.0, 9.0, 1.0, "2 hosts", 1)
    }


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


def test_each_variant_of_a_life_differs_from_all_rules() -> None:
    """A rule that is not switched off would seem to be worth nothing."""
    variants = dict(ablation_life.VARIANTS_OF_RULES)
    every = variants.pop("all rules")
    assert [] == [name for name, params in variants.items() if params == every]
    assert len(variants) == len({repr(params) for params in variants.values()})


def test_queries_that_ask_nearly_the_same_get_more_messages_together() -> None:
    """One that taps another's task has the same producers."""
    world = ablation_life._world(Trial(101))
    risen = {flow.name: flow for flow in world.risen}
    sent = {flow.sources for flow in world.flows if flow.name in risen}
    assert risen
    assert risen.keys() == {flow.name for flow in world.flows if flow.sources in sent}
    assert {0.5} == {risen[flow.name].drift_from(flow) for flow in world.flows if flow.name in risen}


def test_what_shared_envelopes_save_is_told_from_what_was_counted() -> None:
    """Three ants over two links in one envelope, and alone."""
    traffic = Traffic()
    for _ in range(3):
        traffic.count("RoutingAnt", 100, 2)
    traffic.count("envelope", 40, 2)
    assert (680, 840) == (traffic.total_byte_hops, ablation_life._alone_byte_hops(traffic))
