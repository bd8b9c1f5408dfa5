"""What is learnt of a flow's latency beyond the model's word for it."""

import pytest

from placement.excess import Excess, ExcessParams, RunningLatency

PARAMS = ExcessParams(seconds=30, settle_s=5, doubt=5.0, carried_seconds_min=10, excess_ms_max=2_000.0)


def running(latency_ms: float, *, seconds: range = range(100, 130), each: int = 5) -> RunningLatency:
    latency = RunningLatency(PARAMS)
    for second in seconds:
        latency.measured(second, "task", [latency_ms] * each)
    return latency


def test_a_flow_that_was_never_measured_takes_what_the_model_says() -> None:
    """Nothing is made up."""
    assert Excess(0.0, 0, 0.0) == RunningLatency(PARAMS).beyond(20.0)


def test_what_was_measured_often_is_believed() -> None:
    """Of 150 samples, 5 of doubt take a thirtieth."""
    found = running(50.0).beyond(20.0)
    assert (pytest.approx(30.0 * 150 / 155), 150, 0.0) == (found.ms, found.samples, found.spread_ms)


def test_the_excess_is_the_median_s_however_long_a_few_records_wait() -> None:
    """What a reader sees of half of the results; a mean would be off by what a few of them waited."""
    latency = RunningLatency(PARAMS)
    for second in range(100, 130):
        latency.measured(second, "task", [22.0, 24.0, 25.0, 26.0, 900.0])
    assert pytest.approx(5.0, rel=0.05) == latency.beyond(20.0).ms


def test_the_spread_is_that_of_the_middle_half() -> None:
    """A prediction of 30 ms is another one where half of the results differ by 2 ms, and where they do by 40."""
    latency = RunningLatency(PARAMS)
    for second in range(100, 130):
        latency.measured(second, "task", [10.0, 20.0, 30.0, 40.0, 900.0])
    assert 20.0 == latency.beyond(20.0).spread_ms


def test_the_model_may_say_too_much() -> None:
    """Guessed delays and cold brokers are as often too long."""
    assert pytest.approx(-15.0, rel=0.05) == running(10.0).beyond(25.0).ms


def test_a_model_that_learns_changes_nothing_of_what_is_told() -> None:
    """Ants price a flow anew in the meantime; what was measured stays what it is."""
    latency = running(50.0)
    assert pytest.approx(50.0, rel=0.05) == 20.0 + latency.beyond(20.0).ms
    assert pytest.approx(50.0, rel=0.05) == 40.0 + latency.beyond(40.0).ms


def test_only_the_last_seconds_with_results_count() -> None:
    """Brokers and hosts get quicker in their first minute; a flow with a record a minute is still known."""
    latency = running(90.0)
    for second in range(1_000, 1_000 + 30 * 60, 60):
        latency.measured(second, "task", [50.0])
    assert 30 == latency.beyond(20.0).samples
    assert pytest.approx(30.0 * 30 / 35) == latency.beyond(20.0).ms


def test_what_is_told_twice_counts_once() -> None:
    """Every operator of a segment repeats the latencies of its task, and topics may repeat a row."""
    latency = running(50.0, seconds=range(100, 101))
    latency.measured(100, "task", [50.0] * 5)
    latency.measured(100, "another task", [50.0] * 5)
    assert 10 == latency.beyond(20.0).samples


def test_a_flow_that_moves_takes_its_excess_along_until_it_has_been_measured_there() -> None:
    """It has as many hops there; how far coordinators are is another matter, which the first samples tell."""
    latency = running(50.0)
    before_ms = latency.beyond(20.0).ms
    latency.moved(200, 20.0)
    assert Excess(before_ms, 0, 0.0) == latency.beyond(5.0)
    for second in range(206, 236):
        latency.measured(second, "task", [15.0] * 5)
    assert pytest.approx(10.0, rel=0.1) == latency.beyond(5.0).ms


def test_a_flow_that_has_just_begun_takes_nothing_along() -> None:
    """It catches up with what had come before it ran; that is no property of its hops."""
    latency = running(1_500.0, seconds=range(100, 109))
    latency.moved(200, 20.0)
    assert Excess(0.0, 0, 0.0) == latency.beyond(20.0)


def test_the_pause_of_a_move_teaches_nothing() -> None:
    """Records that waited for it are late, and no later ones will be."""
    latency = running(50.0)
    latency.moved(200, 20.0)
    for second in range(195, 206):
        latency.measured(second, "task", [700.0])
    assert 0 == latency.beyond(20.0).samples
    latency.measured(206, "task", [50.0])
    assert 1 == latency.beyond(20.0).samples


def test_a_backlog_is_no_excess() -> None:
    """After an outage records are hours old. That passes; a prediction must not promise it."""
    assert 2_000.0 == running(3_600_000.0).beyond(20.0).ms


def test_params_that_make_no_sense_are_refused() -> None:
    """Before a leader divides by them."""
    wrong = [{"seconds": 5}, {"carried_seconds_min": 0}, {"settle_s": -1}, {"doubt": 0.0}, {"excess_ms_max": 0.0}]
    for each in wrong:
        with pytest.raises(ValueError, match="give a"):
            ExcessParams(**each)
