"""A back-test: history through the same code, second by second, and an honest score."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from services.embedded.errors import StackError
from services.modelling import backtest
from services.modelling.backtest import MARGIN_S, SLICE_S, in_words, replay, run_backtest, seconds_of, slices
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_history import FlowHistory
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows, Sums
from services.modelling.sums import COLUMNS
from services.registry.errors import RegistryError
from topics.messages import FlowRevision

Batch = Callable[..., Rows]
TCP = ("edge-1", "talk", "talk.aa", "tcp")
PARAMS = FitParams(window_s=30, recent_s=5)
NO_FLOWS = FlowHistory([])


def history(rate: Callable[[int], float], seconds: int = 120) -> dict[int, dict[str, float]]:
    told = {}
    for second in range(1_000, 1_000 + seconds):
        count = rate(second)
        time_us = 10.0 + 0.1 * count
        served = {"served": count, "service_us": count * time_us, "service_us_sq": count * time_us**2}
        told[second] = {"rows": 1.0, "arrivals": count, **served}
    return told


def test_a_rhythm_is_told_better_than_by_its_last_value(batch: Batch) -> None:
    """WAPE of ours and of the naive guess, each over what really came; a line tells service times of any load."""
    wave = history(lambda second: round(500 + 300 * math.sin(2 * math.pi * second / 20)))
    scores = {
        (score.of, score.what): score
        for score in replay([batch(2_000, operator={TCP: wave})], Modeller(PARAMS), NO_FLOWS)
    }
    ahead = scores["forecast", "10 s"]
    assert ahead.wape is not None
    assert ahead.naive_wape is not None
    assert ahead.wape < 0.5 * ahead.naive_wape
    assert 110 == ahead.predictions
    service = scores["service", "1 s"]
    assert service.wape is not None
    assert 0.001 > service.wape


def test_the_same_history_gives_the_same_scores(batch: Batch) -> None:
    """Also when one operator begins later than another."""
    cells = {TCP: history(lambda second: second % 7 * 100.0), ("b", "t", "s", "o"): history(lambda _: 5.0, 50)}
    assert replay([batch(2_000, operator=cells)], Modeller(PARAMS), NO_FLOWS) == replay(
        [batch(2_000, operator=cells)], Modeller(PARAMS), NO_FLOWS
    )


def test_history_comes_second_by_second_in_order(batch: Batch) -> None:
    """Each second closed, none of them twice; without history there is nothing."""
    cells = {TCP: history(lambda _: 1.0, 3), ("b", "t", "s", "o"): {1_001: {"rows": 1.0}}}
    parts = list(seconds_of(batch(2_000, operator=cells)))
    assert [1_000, 1_001, 1_002] == [part.appended_ms // 1_000 - 1 for part in parts]
    assert [1, 2, 1] == [len(part.kinds["operator"].seats) for part in parts]
    assert [] == list(seconds_of(batch(2_000)))


def test_what_came_late_is_seen_late(batch: Batch) -> None:
    """As by the stream: a row that was appended three seconds after its second is no part of what was known before."""
    cells = {TCP: history(lambda _: 1.0, 5), ("b", "t", "s", "o"): {1_000: {"rows": 1.0}}}
    rows = batch(2_000, operator=cells)
    late = rows.kinds["operator"]
    came_ms = np.where(np.array(late.seats) == late.seats[-1], 1_004_500, late.appended_ms)
    parts = list(seconds_of(replace(rows, kinds=rows.kinds | {"operator": replace(late, appended_ms=came_ms)})))
    assert [1_000, 1_001, 1_002, 1_003, 1_004] == [part.appended_ms // 1_000 - 1 for part in parts]
    assert [1, 1, 1, 2, 1] == [len(part.kinds["operator"].seats) for part in parts]
    assert {1_000, 1_003} == set(parts[3].kinds["operator"].seconds.tolist())


def test_a_climb_that_breaks_a_bound_is_scored_as_a_hot_spot(
    batch: Batch, revision: Callable[..., FlowRevision]
) -> None:
    """Warnings are models as well, and their score is what one would tune them by."""
    rates = [200.0] * 30 + [200.0 + 20.0 * step for step in range(60)] + [200.0] * 30
    told = {}
    for second, rate in enumerate(rates, start=1_000):
        served = {"served": rate, "service_us": rate * 1_000.0, "service_us_sq": rate * 2e6}
        latency_ms = 150.0 if 1_075 <= second < 1_090 else 30.0
        told[second] = {"rows": 1.0, "arrivals": rate, "timed": 1.0, "latency_ms": latency_ms, **served}
    rows = batch(2_000, operator={TCP: told})
    (score,) = (
        each for each in replay([rows], Modeller(PARAMS), FlowHistory([revision(1, 1_000)])) if each.of == "hotspot"
    )
    assert (1.0, 1.0) == (score.recall, score.precision)
    assert score.lead_s is not None
    assert score.lead_s >= 1


def test_forecasts_are_scored_only_when_their_second_has_come(batch: Batch) -> None:
    """Five seconds of history have no forecast of ten seconds ahead to judge."""
    scores = {
        (score.of, score.what)
        for score in replay([batch(2_000, operator={TCP: history(lambda _: 9.0, 5)})], Modeller(PARAMS), NO_FLOWS)
    }
    assert ("forecast", "1 s") in scores
    assert ("forecast", "10 s") not in scores
    assert pytest.approx(0.0) == next(
        score.wape
        for score in replay([batch(2_000, operator={TCP: history(lambda _: 9.0, 5)})], Modeller(PARAMS), NO_FLOWS)
        if score.what == "1 s" and score.of == "forecast"
    )


class Told(Modeller):
    """Notes when it is told something else of flows."""

    def __init__(self) -> None:
        super().__init__(PARAMS)
        self.bounds_ms: list[tuple[int, float | None]] = []

    def know(self, flows: Mapping[str, FlowFacts]) -> None:
        if flows is not self.flows:
            self.bounds_ms.append((self.closed + 1, flows["talk"].bound_ms if flows else None))
        super().know(flows)


def test_bounds_are_those_of_the_time(batch: Batch, revision: Callable[..., FlowRevision]) -> None:
    """A bound that was set yesterday must not judge the forecasts of the day before."""
    flows = FlowHistory([revision(1, 1_003_000, bound_ms=50), revision(2, 1_006_000, bound_ms=80)])
    modeller = Told()
    replay([batch(2_000, operator={TCP: history(lambda _: 1.0, 10)})], modeller, flows)
    assert [(1, None), (1_002, 50.0), (1_005, 80.0)] == modeller.bounds_ms


class Kept:
    """Rows on a topic with their append times; `collect` sums those of a time as Spark does."""

    def __init__(self, seconds: range, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rows = [
            # Of each seat and second some partitions, appended up to five seconds before it and after it.
            (f"seat-{seat}", second, int(1_000 * (second + rng.uniform(-5.0, 6.0))))
            for second in seconds
            for seat in range(3)
            for _ in range(rng.integers(1, 4))
        ]
        self.asked_ms: list[tuple[int, int]] = []

    def collect(self, begin_ms: int, end_ms: int) -> Rows:
        self.asked_ms.append((begin_ms, end_ms))
        cells: dict[tuple[str, int], list[int]] = {}
        for seat, second, appended_ms in self.rows:
            if begin_ms <= appended_ms < end_ms:
                cells.setdefault((seat, second), []).append(appended_ms)
        values = np.zeros((len(COLUMNS["operator"]), len(cells)))
        values[0] = [len(times) for times in cells.values()]
        last_ms = np.array([max(times) for times in cells.values()], dtype=np.int64)
        seconds = np.array([second for _, second in cells], dtype=np.int64)
        return Rows({"operator": Sums([seat for seat, _ in cells], seconds, values, last_ms)}, (), 0)

    def next_ms(self, after_ms: int) -> int | None:
        return min((appended_ms for *_, appended_ms in self.rows if appended_ms >= after_ms), default=None)


def told(parts: list[Rows]) -> list[tuple[int, dict[tuple[str, int], float]]]:
    """Second by second of the broker's time: what each cell holds."""
    found = []
    for rows in parts:
        for part in seconds_of(rows):
            sums = part.kinds["operator"]
            cells = zip(zip(sums.seats, sums.seconds.tolist(), strict=True), sums.values[0].tolist(), strict=True)
            found.append((part.appended_ms, dict(cells)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_history_in_slices_is_the_same_as_whole(seed: int) -> None:
    """Three days of it do not fit into memory at once; a second that lies over a cut must not be counted in halves."""
    kept = Kept(range(1_000, 1_400), seed)
    since_ms, until_ms = 1_003_456, 1_390_123
    whole = told([kept.collect(since_ms, until_ms)])
    kept.asked_ms.clear()
    assert whole == told(list(slices(since_ms, until_ms, kept.collect, kept.next_ms)))
    assert 4 == len(kept.asked_ms)
    assert all(end_ms - begin_ms <= 1_000 * (SLICE_S + 2 * MARGIN_S) for begin_ms, end_ms in kept.asked_ms)


def test_time_without_metrics_is_passed_over_at_once() -> None:
    """Three days of which ten minutes are kept would be two thousand questions to Spark."""
    kept = Kept(range(900_000, 900_010), 1)
    parts = list(slices(1_000, 2_000_000_000, kept.collect, kept.next_ms))
    assert 1 == len(parts)
    assert 3 == len(kept.asked_ms), "the first slice, the one with metrics, and the one after it"
    assert [] == list(slices(950_000_000, 2_000_000_000, kept.collect, kept.next_ms))


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "out of memory; its heap is 640 MB", "--memory-mb 1280"),
        ("bigger than spark.driver.maxResultSize", "out of memory", "--memory-mb 1280"),
        ("Job aborted\nCaused by: TimeoutException: no broker\n more", "TimeoutException: no broker", "doctor"),
    ],
)
def test_what_spark_could_not_do_is_told_in_words(text: str, what: str, remedy: str) -> None:
    """Never a traceback of two hundred lines."""
    fault = in_words(Exception(text), 640)
    assert isinstance(fault, StackError)
    assert what in fault.what
    assert remedy in fault.remedy


def test_without_a_broker_or_metrics_spark_is_not_even_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take ten seconds to start, and a minute to find out."""
    monkeypatch.setattr(backtest, "open_session", lambda params: pytest.fail("Spark was started"))
    monkeypatch.setattr("services.registry.snapshot.TIMEOUT_S", 0.3)
    monkeypatch.setattr("services.modelling.flow_history.TIMEOUT_S", 0.3)
    with pytest.raises(RegistryError, match=r"cannot read from 127\.0\.0\.1:1"):
        run_backtest("127.0.0.1:1", PARAMS, since_ms=1, until_ms=2)
    monkeypatch.setattr(backtest, "read_flow_history", lambda bootstrap: NO_FLOWS)
    for next_ms in (None, 2_000):
        monkeypatch.setattr(backtest, "next_appended_ms", lambda bootstrap, after_ms, found=next_ms: found)
        assert [] == run_backtest("", PARAMS, since_ms=1, until_ms=2).scores
