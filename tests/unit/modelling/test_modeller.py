"""From sums to models: figures that can be checked by hand, closed seconds, repetition, coming and going."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from services.modelling.columns import Stamp
from services.modelling.flow_facts import FlowFacts
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows
from topics.catalogue import MODELS
from topics.messages import Model

Batch = Callable[..., Rows]
TCP = ("edge-1", "talk", "talk.aa", "tcp")
UDP = ("edge-1", "talk", "talk.aa", "udp")
PARAMS = FitParams(window_s=30, recent_s=5, signature_every_s=1)


def models_of(modeller: Modeller) -> dict[str, Model]:
    """What the modeller makes now, through the bytes that readers get."""
    found = {}
    for columns in modeller.models():
        for value in columns.encode(Stamp(modeller.closed, modeller.params.window_s, 1, 1)):
            model = MODELS.codec.decode(value, topic="stig.models", partition=0, offset=0)
            found[model.key] = model
    return found


def told(arrivals: float, service_us: float = 20.0, **more: float) -> dict[str, float]:
    """One second of an operator whose records all take the same time."""
    served = {"served": arrivals, "service_us": arrivals * service_us, "service_us_sq": arrivals * service_us**2}
    return {"rows": 1.0, "arrivals": arrivals, "outputs": arrivals / 2, **served, **more}


def steady(first: int, last: int, arrivals: float, **more: float) -> dict[int, dict[str, float]]:
    return {second: told(arrivals, **more) for second in range(first, last + 1)}


def test_rates_are_over_the_window_and_over_its_end(batch: Batch) -> None:
    """Twenty seconds of 100 and ten of 400: the window says 200, its last five seconds 400."""
    modeller = Modeller(PARAMS)
    cells = steady(1_001, 1_020, 100.0, gaps=99.0, gaps_sq=2.5 * 99) | steady(1_021, 1_030, 400.0)
    assert 30 == modeller.take(batch(1_031.2, operator={TCP: cells}))
    model = models_of(modeller)["rate/talk/tcp"]
    assert (1_030, 30, 30) == (model.second, model.window_s, model.samples)
    assert (200.0, 400.0) == (model.body.per_s, model.body.recent_per_s)
    assert 1.5 == model.body.ca2
    assert 0.5 == model.body.selectivity
    assert model.error is not None
    assert 0 < model.error < 1


def test_only_closed_seconds_count(batch: Batch) -> None:
    """The broker's time says when a second is over: what is still being measured would look like a fall of the rate."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(1_010.9, operator={TCP: steady(1_001, 1_009, 100.0) | {1_010: told(3.0)}}))
    assert 1_009 == modeller.closed
    assert 100.0 == models_of(modeller)["rate/talk/tcp"].body.per_s
    assert 1 == modeller.take(batch(1_011.0, operator={TCP: {1_010: told(100.0)}}))
    assert 100.0 == models_of(modeller)["rate/talk/tcp"].body.per_s


def test_a_batch_that_comes_again_makes_the_same_models(batch: Batch) -> None:
    """Also what was counted stays: rows of closed seconds, once each."""
    modeller = Modeller(PARAMS)
    rows = batch(1_031.0, operator={TCP: steady(1_001, 1_030, 100.0), UDP: steady(1_011, 1_030, 50.0)})
    modeller.take(rows)
    before = models_of(modeller)
    assert 0 == modeller.take(rows)
    assert before == models_of(modeller)
    assert 50.0 == modeller.totals.rows["operator"]


def test_an_operator_that_begins_is_not_diluted_by_the_time_before(batch: Batch) -> None:
    """But one that falls silent has a rate that goes to zero."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(1_031.0, operator={TCP: steady(1_001, 1_030, 100.0), UDP: steady(1_021, 1_025, 60.0)}))
    model = models_of(modeller)["rate/talk/udp"]
    assert 10 == model.samples
    assert 30.0 == model.body.per_s
    assert 0.0 == model.body.recent_per_s


def test_the_rate_of_a_host_that_begins_is_not_diluted_either(batch: Batch) -> None:
    """Its service times are fitted against that rate."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(1_031.0, operator={TCP: steady(1_026, 1_030, 100.0), UDP: steady(1_028, 1_030, 60.0)}))
    assert (5 * 100.0 + 3 * 60.0) / 5 == models_of(modeller)["service/talk/tcp/edge-1"].body.host_per_s


def test_operators_of_several_hosts_are_one_rate_and_several_services(batch: Batch) -> None:
    """The rate is the flow's; how long a record takes is the host's."""
    modeller = Modeller(PARAMS)
    there = ("core-1", "talk", "talk.aa", "tcp")
    cells = {TCP: steady(1_001, 1_030, 100.0, service_us=20.0), there: steady(1_001, 1_030, 300.0, service_us=5.0)}
    modeller.take(batch(1_031.0, operator=cells))
    models = models_of(modeller)
    assert 400.0 == models["rate/talk/tcp"].body.per_s
    edge, core = models["service/talk/tcp/edge-1"].body, models["service/talk/tcp/core-1"].body
    assert (20.0, 5.0) == (edge.mean_us, core.mean_us)
    assert (100.0, 300.0) == (edge.host_per_s, core.host_per_s)
    assert 0.0 == pytest.approx(edge.cs2, abs=1e-9)


def test_execution_time_is_a_line_over_the_hosts_total_rate(batch: Batch) -> None:
    """Synergy 3.3.2: the time of one operator grows with what all of them have to do."""
    modeller = Modeller(PARAMS)
    cells: dict[tuple[str, ...], Any] = {TCP: {}, UDP: {}}
    for second in range(1_001, 1_031):
        others = 100.0 + 10 * (second % 10)
        cells[UDP][second] = told(others)
        cells[TCP][second] = told(100.0, service_us=10.0 + 0.02 * (100.0 + others))
    modeller.take(batch(1_031.0, operator=cells))
    body = models_of(modeller)["service/talk/tcp/edge-1"].body
    assert 0.02 == pytest.approx(body.slope_us_s, rel=1e-3)
    assert 10.0 == pytest.approx(body.intercept_us, rel=1e-2)
    assert 30 == body.points


def test_what_operators_of_a_task_repeat_is_counted_once(batch: Batch) -> None:
    """Bytes and lag are a task's, state is each operator's own; tasks of several hosts add up."""
    modeller = Modeller(PARAMS)
    there = ("core-1", "talk", "talk.aa", "tcp")
    task = {"bytes_in": 1_000.0, "bytes_out": 500.0, "state_bytes": 64.0}
    cells = {
        seat: {second: told(10.0, lag=10.0 * (second - 1_000), **task) for second in range(1_001, 1_031)}
        for seat in (TCP, UDP, there)
    }
    modeller.take(batch(1_031.0, operator=cells))
    model = models_of(modeller)["edge/talk/talk.aa"]
    assert (2_000.0, 1_000.0) == (model.body.bytes_in_per_s, model.body.bytes_out_per_s)
    assert (600.0, 20.0, 192.0) == (model.body.lag, model.body.lag_growth_per_s, model.body.state_bytes)
    assert 0.0 == model.error, "the same bytes in each second"


def test_bytes_are_told_over_the_window_and_over_its_end(batch: Batch) -> None:
    """As rates are, with their error."""
    modeller = Modeller(PARAMS)
    early, late = {"bytes_in": 100.0, "bytes_out": 10.0}, {"bytes_in": 400.0, "bytes_out": 40.0}
    cells = steady(1_001, 1_020, 9.0, **early) | steady(1_021, 1_030, 9.0, **late)
    modeller.take(batch(1_031.0, operator={TCP: cells, UDP: cells}))
    model = models_of(modeller)["edge/talk/talk.aa"]
    body = model.body
    assert (200.0, 20.0) == (body.bytes_in_per_s, body.bytes_out_per_s)
    assert (400.0, 40.0, 5) == (body.recent_bytes_in_per_s, body.recent_bytes_out_per_s, body.recent_s)
    assert model.error is not None
    assert 0 < model.error < 1


def test_links_are_half_round_trips(batch: Batch) -> None:
    """Two answers of 10 and 14 ms a second: 6 ms one way, at best 5, and one of three probes lost."""
    modeller = Modeller(PARAMS)
    trip = {"rows": 1.0, "sent": 3.0, "lost": 1.0, "answers": 2.0, "fastest_ms": 10.0}
    trip |= {"round_trip_ms": 24.0, "round_trip_ms_sq": 296.0}
    modeller.take(batch(1_031.0, link={("edge-1", "broker/2"): dict.fromkeys(range(1_001, 1_031), trip)}))
    model = models_of(modeller)["link/edge-1/broker/2"]
    assert ("edge-1", "broker/2") == (model.body.host, model.body.peer)
    assert (6.0, 5.0, 60) == (model.body.mean_ms, model.body.min_ms, model.samples)
    assert 1 / 3 == pytest.approx(model.body.lost, rel=1e-5)


def test_forecasts_follow_second_by_second_and_say_how_wrong_they_were(batch: Batch) -> None:
    """A steady rate is forecast as it is, with a small error; before anything came due there is none."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(1_001.5, operator={TCP: steady(1_000, 1_000, 100.0)}))
    assert (None, None, None) == models_of(modeller)["forecast/talk/tcp"].body.errors_per_s
    for second in range(1_001, 1_040):
        modeller.take(batch(second + 1.5, operator={TCP: {second: told(100.0 + second % 2)}}))
    body = models_of(modeller)["forecast/talk/tcp"].body
    assert (1, 10, 60) == body.horizons_s
    assert 100.5 == pytest.approx(body.per_s[0], abs=1.0)
    assert body.errors_per_s[0] is not None
    assert body.errors_per_s[0] <= 2.0


LATE = ("edge-9", "talk", "talk.bb", "slow")


def late_by(seconds: int, until: int, batch: Batch, *, first: int = 1_000) -> Modeller:
    """A modeller that heard of one host in time, and of another so late."""
    modeller = Modeller(PARAMS)
    for second in range(first, until):
        late = {second - seconds: told(100.0 + second % 2, lag=7.0)} if second >= first + seconds else {}
        modeller.take(batch(second + 0.5, operator={TCP: {second: told(50.0)}, LATE: late}))
    return modeller


@pytest.mark.parametrize("seconds", range(1, 6))
def test_a_host_that_is_always_late_has_the_rates_and_forecasts_of_others(batch: Batch, seconds: int) -> None:
    """A clock that is 3 s behind is no fault, and what has not been told yet is not 0."""
    models = models_of(late_by(seconds, 1_060, batch))
    body = models["forecast/talk/slow"].body
    assert 100.5 == pytest.approx(body.now_per_s, abs=0.6)
    assert 100.5 == pytest.approx(body.per_s[0], abs=1.0)
    assert body.errors_per_s[0] is not None
    assert body.errors_per_s[0] <= 2.0
    rate = models["rate/talk/slow"]
    assert 100.5 == pytest.approx(rate.body.per_s, abs=0.6)
    assert 100.5 == pytest.approx(rate.body.recent_per_s, abs=0.6)
    assert 7.0 == models["edge/talk/talk.bb"].body.lag
    assert 100.5 == pytest.approx(models["service/talk/slow/edge-9"].body.host_per_s, abs=0.6)
    assert "signature/talk/slow" not in models
    assert 50.0 == models["forecast/talk/tcp"].body.now_per_s


def test_slack_is_reckoned_from_what_has_been_told(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is 3 s late has neither less to do nor an empty queue."""
    modeller, seen = late_by(3, 1_060, batch), []
    modeller.know({"talk": FlowFacts(100.0, (), frozenset({"tcp"}))})
    monkeypatch.setattr(modeller.hot_spots, "columns", lambda seats, *_: seen.append(seats) or [])
    modeller.models()
    (seats,) = seen
    late = seats.parts.index(LATE)
    assert 100.5 == pytest.approx(seats.per_s[late], abs=0.6)
    assert 7.0 == seats.lag[late]


def test_who_has_little_to_do_stays_company_and_who_works_elsewhere_does_not(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow with a record now and then would come and go, and no warning about its neighbours would be judged."""
    modeller, seen = Modeller(PARAMS), []
    moved = ("edge-2", "talk", "talk.bb", "slow")
    sparse = ("edge-1", "rare", "rare.aa", "seldom")
    for second in range(1_000, 1_020):
        there = {LATE: {second: told(9.0)}} if second < 1_008 else {moved: {second: told(9.0)}}
        once = {sparse: {second: told(1.0)}} if second == 1_005 else {}
        modeller.take(batch(second + 0.5, operator={TCP: {second: told(50.0)}, **there, **once}))
    modeller.know({"talk": FlowFacts(100.0, (), frozenset({"tcp"}))})
    monkeypatch.setattr(modeller.hot_spots, "columns", lambda seats, *_: seen.append(seats) or [])
    modeller.models()
    assert {TCP, moved, sparse} == set(seen[0].parts)


def test_the_rate_of_an_operator_waits_for_the_latest_of_its_hosts(batch: Batch) -> None:
    """Half of a rate is no rate."""
    modeller, there = Modeller(PARAMS), ("core-1", "talk", "talk.aa", "tcp")
    for second in range(1_000, 1_040):
        late = {second - 2: told(30.0)} if second >= 1_002 else {}
        modeller.take(batch(second + 0.5, operator={TCP: {second: told(100.0)}, there: late}))
    models = models_of(modeller)
    assert (130.0, 130.0) == (models["rate/talk/tcp"].body.per_s, models["rate/talk/tcp"].body.recent_per_s)
    assert 130.0 == models["forecast/talk/tcp"].body.now_per_s


def test_what_came_late_once_is_in_the_past_that_forecasts_look_at(batch: Batch) -> None:
    """For a moment it is not known; afterwards it is as if it had come in time."""
    late, punctual = Modeller(PARAMS), Modeller(PARAMS)
    for second in range(1_000, 1_060):
        row = {second: told(10.0 * (second % 7))}
        punctual.take(batch(second + 1.5, operator={TCP: row}))
        held = second in (1_050, 1_051)
        rows = {each: told(10.0 * (each % 7)) for each in range(1_050, 1_053)} if second == 1_052 else row
        late.take(
            batch(second + 1.5, operator={} if held else {TCP: rows}, host={("core-1",): {second: {"rows": 1.0}}})
        )
        if second == 1_051:
            assert 70.0 > models_of(late)["rate/talk/tcp"].body.recent_per_s > 0.0
    for modeller in (late, punctual):
        place = modeller.forecasts._places["talk", "tcp"]
        past = modeller.forecasts._forecaster.history.last(12)[:, place].tolist()
        assert [10.0 * (second % 7) for second in range(1_048, 1_060)] == past


def test_a_host_that_falls_silent_has_nothing_to_do_after_a_while(batch: Batch) -> None:
    """It may be late for some seconds; then its rates are 0, also those of the time that was waited."""
    modeller = Modeller(PARAMS)
    rates = {}
    for second in range(1_000, 1_060):
        rows = {LATE: {second: told(100.0)}} if second < 1_040 else {}
        modeller.take(batch(second + 1.5, operator={TCP: {second: told(50.0)}} | rows))
        rates[second] = models_of(modeller)["rate/talk/slow"].body.recent_per_s
    assert [100.0] * 4 == [rates[second] for second in (1_039, 1_040, 1_042, 1_043)]
    assert [0.0] * 2 == [rates[second] for second in (1_046, 1_059)]
    assert 0.0 == models_of(modeller)["forecast/talk/slow"].body.now_per_s


def test_an_operator_that_has_nothing_to_do_is_not_waited_for(batch: Batch) -> None:
    """Its host has told of the second, and nothing of it: that is a rate of 0 at once."""
    modeller = Modeller(PARAMS)
    for second in range(1_000, 1_030):
        rows = {TCP: {second: told(100.0)}} if second < 1_025 else {}
        modeller.take(batch(second + 1.5, operator=rows, host={("edge-1",): {second: {"rows": 1.0}}}))
    models = models_of(modeller)
    assert (0.0, 0.0) == (models["rate/talk/tcp"].body.recent_per_s, models["forecast/talk/tcp"].body.now_per_s)


def test_after_a_clock_was_set_back_by_more_than_a_window_all_begins_anew(batch: Batch) -> None:
    """Until the broker's time had caught up nothing would be modelled: an hour of that is longer than a restart."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(5_031.0, operator={TCP: steady(5_001, 5_030, 100.0)}))
    modeller.take(batch(4_992.0, operator={TCP: steady(4_985, 4_991, 100.0)}))
    assert 5_030 == modeller.closed, "a query that begins anew reads a window and a little more"
    assert 10 == modeller.take(batch(1_031.0, operator={UDP: steady(1_021, 1_030, 60.0)}))
    assert 1_030 == modeller.closed
    models = models_of(modeller)
    assert 60.0 == models["rate/talk/udp"].body.per_s
    assert "rate/talk/tcp" not in models


def test_batches_behind_the_refilled_ring_are_a_backlog_and_no_clock(batch: Batch) -> None:
    """After a restart the query goes on from its checkpoint, which may be far behind what is kept."""
    modeller = Modeller(PARAMS)
    modeller.refill(batch(5_031.0, operator={TCP: steady(5_001, 5_030, 100.0)}))
    modeller.take(batch(4_901.0, operator={TCP: steady(4_891, 4_900, 7.0)}))
    assert 5_030 == modeller.closed
    assert 100.0 == models_of(modeller)["rate/talk/tcp"].body.per_s


def test_signatures_are_told_after_so_many_seconds_whatever_the_batches_are(batch: Batch) -> None:
    """Batches of two seconds may never close a second that is a multiple of ten."""
    modeller = Modeller(FitParams(window_s=30, recent_s=5, signature_every_s=10))
    signed = []
    for second in range(1_001, 1_060, 2):
        rate = 100.0 if second % 20 < 10 else 1_000.0
        modeller.take(batch(second + 1.0, operator={TCP: {second - 1: told(rate), second: told(rate)}}))
        signed += [modeller.closed] if "signature/talk/tcp" in models_of(modeller) else []
    assert 5 <= len(signed) <= 6
    assert {10} == {after - before for before, after in pairwise(signed)}


def test_signatures_take_turns(batch: Batch) -> None:
    """Those of all operators at once took as long as all other models of a second together."""
    modeller = Modeller(FitParams(window_s=30, recent_s=5, signature_every_s=10))
    seats = [("edge-1", "talk", "talk.aa", f"op-{number:02}") for number in range(20)]
    bursts = steady(1_001, 1_010, 100.0) | steady(1_011, 1_020, 1_000.0)
    modeller.take(batch(1_021.0, operator=dict.fromkeys(seats, bursts)))
    signed = []
    for second in range(1_021, 1_031):
        modeller.take(batch(second + 1.0, operator={seat: {second: told(1_000.0)} for seat in seats}))
        signed.append([key for key in models_of(modeller) if key.startswith("signature/")])
    assert {2} == {len(keys) for keys in signed}
    assert 20 == len({key for keys in signed for key in keys})


def test_a_bursty_stream_has_a_signature(batch: Batch) -> None:
    """Twenty seconds low, ten high: two segments with the load of each; a steady stream needs none."""
    modeller = Modeller(PARAMS)
    bursts = steady(1_001, 1_020, 100.0) | steady(1_021, 1_030, 1_000.0)
    modeller.take(batch(1_031.0, operator={TCP: bursts, UDP: steady(1_001, 1_030, 100.0)}))
    models = models_of(modeller)
    model = models["signature/talk/tcp"]
    body = model.body
    assert (30, 0.0) == (model.samples, pytest.approx(model.error, abs=1e-5)), "each second is as its segment"
    assert (20, 10) == body.lasted_s
    assert pytest.approx((0.002, 0.02)) == body.load
    assert "signature/talk/udp" not in models


def test_the_error_of_a_signature_is_how_far_seconds_are_off_from_their_segments(batch: Batch) -> None:
    """Nothing, then 1,000 a second, then 90 and 110 in turn: ten off in two of three seconds."""
    modeller = Modeller(PARAMS)
    cells = {second: told(90.0 if second % 2 else 110.0) for second in range(1_011, 1_031)}
    modeller.take(batch(1_031.0, operator={TCP: steady(1_006, 1_010, 1_000.0) | cells}))
    model = models_of(modeller)["signature/talk/tcp"]
    assert 25 == model.samples
    seconds = [0.0] * 5 + [1_000.0] * 5 + [100.0] * 20
    assert (10.0 * math.sqrt(20 / 30)) / (sum(seconds) / 30) == pytest.approx(model.error, rel=0.01)


def test_models_end_with_what_they_are_about(batch: Batch) -> None:
    """A window after its last word an operator is gone, and its keys are named once, so that they can be deleted."""
    modeller = Modeller(PARAMS)
    modeller.take(batch(1_001.5, operator={TCP: {1_000: told(50.0)}, UDP: {1_000: told(50.0)}}))
    for second in range(1_001, 1_070):
        modeller.take(batch(second + 1.5, operator={TCP: {second: told(100.0)}}))
    gone = modeller.sweep()
    assert {"rate/talk/udp", "forecast/talk/udp", "signature/talk/udp", "service/talk/udp/edge-1"} == set(gone)
    assert "rate/talk/udp" not in models_of(modeller)
    assert [] == modeller.sweep()


def test_no_figure_is_ever_nan(batch: Batch) -> None:
    """JSON has no NaN: a model with one could be written and never read."""
    modeller = Modeller(PARAMS)
    nothing = {second: {"rows": 1.0} for second in range(1_001, 1_031)}
    modeller.take(batch(1_031.0, operator={TCP: nothing}, link={("a", "b"): nothing}))
    models = models_of(modeller)
    assert 0.0 == models["rate/talk/tcp"].body.per_s
    assert "service/talk/tcp/edge-1" not in models
    assert "link/a/b" not in models
    assert not math.isnan(models["edge/talk/talk.aa"].body.lag_growth_per_s)
