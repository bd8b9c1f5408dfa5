"""Flows as hot spots are foreseen from them: what waits where, and what it takes to work that off."""

import math
from collections.abc import Callable, Mapping

import pytest

from placement.hotspots import Outlook
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_outlook import Measured, outlook_of
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows
from services.modelling.seats import Seats

Batch = Callable[..., Rows]
PARSED, COUNTED = ("edge-1", "talk", "talk.aa", "parsed"), ("edge-1", "talk", "talk.aa", "counted")
SUMMED = ("core-1", "talk", "talk.bb", "summed")
TWO = FlowFacts(100.0, (("summed", "parsed"),), frozenset({"summed"}))
LAST = 1_019


def told(rate: float, service_us: float, **more: float) -> dict[str, float]:
    """One second."""
    served = {"served": rate, "service_us": rate * service_us, "service_us_sq": rate * service_us**2}
    return {"rows": 1.0, "arrivals": rate, "waited": rate, **served, **more}


def looked(
    batch: Batch,
    monkeypatch: pytest.MonkeyPatch,
    seconds: Callable[[int], Mapping[tuple[str, ...], dict[str, float]]],
    facts: FlowFacts,
) -> tuple[Outlook, Measured]:
    """What is known at the end of these twenty seconds."""
    modeller, seen = Modeller(FitParams(window_s=20, recent_s=5)), list[Seats]()
    modeller.know({"talk": facts})
    monkeypatch.setattr(modeller.hot_spots, "columns", lambda seats, *_: seen.append(seats) or [])
    for second in range(1_000, LAST + 1):
        cells = {seat: {second: sums} for seat, sums in seconds(second).items()}
        modeller.take(batch(second + 1.5, operator=cells))
    modeller.models()
    return outlook_of(seen[0], modeller.flows)


def test_what_a_record_takes_is_also_the_work_on_what_is_made_of_it(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flat_map makes ten of each: reckoned by those, a backlog seemed to be worked off in a tenth of the time."""
    backlog = {"lag": 100.0}
    outlook, _ = looked(
        batch,
        monkeypatch,
        lambda second: {PARSED: told(50.0, 1_000.0, **backlog), COUNTED: told(500.0, 400.0, **backlog)},
        FlowFacts(100.0, (("counted", "parsed"),), frozenset({"counted"})),
    )
    stops = outlook.stops
    assert [5.0] == pytest.approx(stops.service_ms.tolist()), "1 ms, and ten times 0.4"
    assert [500.0] == pytest.approx(stops.backlog_ms.tolist())
    assert [0.25] == pytest.approx((stops.rate_per_ms * stops.service_ms).tolist()), "the load is what it was"


def timed(ms: float) -> dict[str, float]:
    return {"timed": 1.0, "latency_ms": ms}


@pytest.mark.parametrize(("closed", "latency_ms"), [(LAST - 7, None), (LAST - 2, 140.0)])
def test_a_flow_takes_what_it_takes_to_its_sinks(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, closed: int, latency_ms: float | None
) -> None:
    """A window has results when it closes: until the next one the way to it was told as the flow's latency."""
    _, measured = looked(
        batch,
        monkeypatch,
        lambda second: {
            PARSED: told(50.0, 100.0, **timed(20.0)),
            SUMMED: told(50.0, 100.0, **(timed(140.0) if second == closed else {})),
        },
        TWO,
    )
    found = [None if math.isnan(each) else each for each in measured.latency_ms.tolist()]
    assert [latency_ms] == found
    assert (0.0 if latency_ms is None else 1.0) == measured.records[0]


@pytest.mark.parametrize("comes", [True, False])
def test_a_segment_that_stalls_has_a_backlog_and_its_flow_the_age_of_that(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, comes: bool
) -> None:
    """Nothing was done in the last seconds, so that what waits seemed to take no time, and the flow no longer than its
    first segment. Also if nothing comes any more."""
    since = LAST - 8

    def second_of(second: int) -> dict[tuple[str, ...], dict[str, float]]:
        if second < since:
            return {PARSED: told(50.0, 100.0, **timed(20.0)), SUMMED: told(50.0, 3_000.0, **timed(30.0))}
        stuck = {"rows": 1.0, "lag": 50.0 * (second - since + 1) if comes else 50.0}
        return {SUMMED: stuck} | ({PARSED: told(50.0, 100.0, **timed(20.0))} if comes else {})

    outlook, measured = looked(batch, monkeypatch, second_of, TWO)
    assert [8_000.0] == measured.latency_ms.tolist()
    assert [4e3, 5e3, 6e3, 7e3, 8e3] == measured.by_second_ms[0].tolist()
    stop = outlook.hosts.index("core-1")
    lag = 450.0 if comes else 50.0
    assert 3.0 * lag == pytest.approx(outlook.stops.backlog_ms[outlook.stops.host == stop][0])
    assert [1.0, 1.0] == outlook.stops.weight.tolist() or not comes
    assert 1.0 == outlook.stops.weight[outlook.stops.host == stop][0]
    assert 7_900.0 < outlook.base_ms[0] <= 8_000.0


def test_a_task_that_takes_in_what_waits_does_not_stall(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word of how far time has come is fetched like records, and is none: it waits a moment, and nothing is done."""
    _, measured = looked(
        batch,
        monkeypatch,
        lambda second: {
            PARSED: told(50.0, 100.0, **timed(20.0)),
            SUMMED: {"rows": 1.0, "lag": 1.0, "waited": 3.0},
        },
        TWO,
    )
    assert [True] == [math.isnan(each) for each in measured.latency_ms.tolist()]


def test_a_host_that_is_late_does_not_stall(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has not told of yet it may have done."""
    modeller, seen = Modeller(FitParams(window_s=20, recent_s=5)), list[Seats]()
    modeller.know({"talk": TWO})
    monkeypatch.setattr(modeller.hot_spots, "columns", lambda seats, *_: seen.append(seats) or [])
    for second in range(1_000, LAST + 1):
        late = {second - 3: told(50.0, 3_000.0, lag=9.0, **timed(30.0))}
        modeller.take(batch(second + 1.5, operator={SUMMED: late, PARSED: {second: told(50.0, 100.0)}}))
    modeller.models()
    _, measured = outlook_of(seen[0], modeller.flows)
    assert [30.0] == measured.latency_ms.tolist()
