"""Slack and hot spots from measured seconds: what is left of a bound, what is coming, and how warnings come out."""

from collections.abc import Callable, Sequence

import pytest

from placement.hotspots import AlarmParams
from services.modelling.columns import Stamp
from services.modelling.flow_facts import FlowFacts
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows
from services.modelling.slack_errors import KEEP
from topics.catalogue import MODELS
from topics.messages import HotSpotModel, Model, SlackModel

Batch = Callable[..., Rows]
SEAT = ("edge-1", "talk", "talk.aa", "tcp")
BOUND_MS = 100.0


def second_of(rate: float, latency_ms: float) -> dict[str, float]:
    """One second: each record takes 1 ms, so a thousand a second are all that the host can do."""
    served = {"served": rate, "service_us": rate * 1_000.0, "service_us_sq": rate * 2e6}
    return {"rows": 1.0, "arrivals": rate, "timed": 1.0, "latency_ms": latency_ms, **served}


def watch(
    batch: Batch,
    rates: list[float],
    latencies_ms: list[float],
    *,
    other: tuple[float, float | None] = (1.0, None),
    leaves: int = 10_000,
    stands: Sequence[str] = (),
    earned: int = 0,
) -> tuple[Modeller, list[dict[str, Model]]]:
    """The models of each second of such a story. `other`: rate and bound of a flow on the same host until it leaves.

    `stands`: flows whose warnings stand from before; `earned`: how many must have come true before one is given.
    """
    modeller = Modeller(FitParams(window_s=30, recent_s=5, alarm=AlarmParams(earned=earned)))
    modeller.know(
        {"talk": FlowFacts(BOUND_MS, (), frozenset({"tcp"})), "free": FlowFacts(other[1], (), frozenset({"x"}))}
    )
    modeller.hot_spots.stand_by(stands)
    story = []
    for second, (rate, latency_ms) in enumerate(zip(rates, latencies_ms, strict=True), start=1_000):
        host = "edge-1" if second < leaves else "edge-2"
        cells = {
            SEAT: {second: second_of(rate, latency_ms)},
            (host, "free", "free.aa", "x"): {second: second_of(other[0], 5.0)},
        }
        modeller.take(batch(second + 1.5, operator=cells))
        story.append(models_of(modeller))
    return modeller, story


def models_of(modeller: Modeller) -> dict[str, Model]:
    """What the modeller makes now, through the bytes that readers get."""
    values = [value for columns in modeller.models() for value in columns.encode(Stamp(modeller.closed, 30, 1, 1))]
    models = [MODELS.codec.decode(value, topic="t", partition=0, offset=0) for value in values]
    return {model.key: model for model in models}


def test_slack_is_bound_minus_measured_latency_and_stays_when_nothing_changes(batch: Batch) -> None:
    """A calm flow has the same slack ahead as now, and no warning; a flow without a bound has no slack."""
    _, story = watch(batch, [200.0] * 40, [30.0] * 40)
    body = story[-1]["slack/talk"].body
    assert isinstance(body, SlackModel)
    assert (BOUND_MS, 30.0, 70.0) == (body.bound_ms, body.latency_ms, body.slack_ms)
    windows = {key: story[-1][key].window_s for key in ("rate/talk/tcp", "slack/talk", "forecast/talk/tcp")}
    assert {"rate/talk/tcp": 30, "slack/talk": 5, "forecast/talk/tcp": 600} == windows, "what each rests on"
    assert (1, 10) == (body.horizons_s[0], body.horizons_s[-1])
    assert 5 == story[-1]["slack/talk"].samples, "records that were timed"
    assert all(abs(slack_ms - 70.0) < 3.0 for slack_ms in body.ahead_slack_ms)
    assert "slack/free" not in story[-1]
    assert "hotspot/talk" not in story[-1]


def test_a_rate_that_climbs_towards_capacity_is_warned_of_before_the_bound_breaks(batch: Batch) -> None:
    """The warning names flow, host and operator, is a hit when the bound breaks, and is taken back afterwards."""
    climb = [200.0] * 30 + [200.0 + 20.0 * step for step in range(60)]
    calm = [200.0] * 60
    latencies = [30.0] * 75 + [150.0] * 15 + [30.0] * 60
    modeller, story = watch(batch, climb + calm, latencies)
    warned = [place for place, models in enumerate(story) if "hotspot/talk" in models]
    assert warned
    assert 30 < warned[0] < 75
    body = story[warned[0]]["hotspot/talk"].body
    assert isinstance(body, HotSpotModel)
    assert ("talk", "edge-1", "tcp") == (body.flow, body.host, body.operator)
    assert 5 == story[warned[0]]["hotspot/talk"].window_s
    assert body.in_s is not None
    assert 0.5 <= body.probability <= 1.0
    first, again = story[warned[0]]["hotspot/talk"], story[80]["hotspot/talk"]
    assert (5, None) == (first.samples, first.error), "five seconds with a timed record each; no warning was judged"
    assert 0.0 == again.error, "the one that was judged came true"
    assert (1, 0) == (modeller.hot_spots.verdicts.hits, modeller.hot_spots.verdicts.misses)
    assert [75.0 - warned[0]] == modeller.hot_spots.verdicts.leads_s
    last = story[warned[-1]]["hotspot/talk"].body
    assert isinstance(last, HotSpotModel)
    assert last.in_s is None


def test_what_is_foreseen_is_judged_though_nobody_is_warned_yet(batch: Batch) -> None:
    """A service that has just begun knows nothing of how good it is; hosts warn of what is near."""
    climb = [200.0] * 30 + [200.0 + 20.0 * step for step in range(60)]
    modeller, story = watch(batch, climb, [30.0] * 75 + [150.0] * 15, earned=3)
    assert not any("hotspot/talk" in models for models in story[:75])
    assert 1 == modeller.hot_spots.verdicts.hits
    told = [models["hotspot/talk"].body for models in story[76:]]
    assert {0.0} == {body.in_s for body in told if isinstance(body, HotSpotModel)}, "what is broken is told, as that"


def test_load_beyond_capacity_is_seen_though_a_host_gets_no_more_done(batch: Batch) -> None:
    """Processed records stay at capacity then; that more wait each second is what tells."""
    modeller = Modeller(FitParams(window_s=30, recent_s=5))
    modeller.know({"talk": FlowFacts(10_000.0, (), frozenset({"tcp"}))})
    for second in range(1_000, 1_040):
        over = max(0, second - 1_029)
        cells = {SEAT: {second: second_of(1_000.0 if over else 700.0, 20.0) | {"lag": 500.0 * over}}}
        modeller.take(batch(second + 1.5, operator=cells))
    models = models_of(modeller)
    assert 1_500.0 == models["rate/talk/tcp"].body.recent_per_s
    slack = models["slack/talk"].body
    assert isinstance(slack, SlackModel)
    # Five seconds of work wait, and each second half a second more.
    assert 10_000.0 - 20.0 - 5_000.0 - 5_000.0 == pytest.approx(slack.ahead_slack_ms[-1], rel=0.1, abs=400.0)


def test_what_a_burst_took_is_not_taken_for_what_a_flow_always_takes(batch: Batch) -> None:
    """After it the mean latency still has the burst in it: a bound of 100 ms would be broken for ever."""
    _, story = watch(batch, [200.0] * 45, [30.0] * 40 + [400.0, 400.0] + [30.0] * 3)
    slack = story[-1]["slack/talk"].body
    assert isinstance(slack, SlackModel)
    assert slack.slack_ms < 0, "over five seconds it is"
    assert all(left_ms > 60.0 for left_ms in slack.ahead_slack_ms)
    assert "hotspot/talk" not in story[-1]


def test_a_warning_from_before_a_restart_is_taken_back(batch: Batch) -> None:
    """Nobody else would ever do it: it stood on the topic until the flow was in danger again."""
    _, story = watch(batch, [200.0] * 3, [30.0] * 3, stands=["talk", "gone"])
    for key, host in (("hotspot/talk", "edge-1"), ("hotspot/gone", "-")):
        body = story[0][key].body
        assert isinstance(body, HotSpotModel)
        assert (None, host) == (body.in_s, body.host)
        assert key not in story[1], "once"


@pytest.mark.parametrize("bound_ms", [None, BOUND_MS])
def test_a_warning_is_taken_back_where_nothing_can_be_foreseen_any_more(batch: Batch, bound_ms: float | None) -> None:
    """The bound was lifted, or no record was timed for a while."""
    modeller, _ = watch(batch, [200.0] * 3, [30.0] * 3)
    modeller.hot_spots.stand_by(["talk"])
    modeller.know({"talk": FlowFacts(bound_ms, (), frozenset({"tcp"}))})
    for second in range(1_003, 1_020):
        cells = {SEAT: {second: second_of(200.0, 0.0) | {"timed": 0.0}}}
        modeller.take(batch(second + 1.5, operator=cells))
        found = models_of(modeller)
        if "hotspot/talk" in found:
            break
    body = found["hotspot/talk"].body
    assert isinstance(body, HotSpotModel)
    assert body.in_s is None
    assert found == models_of(modeller), "the same again, if it could not be written"
    assert set() == modeller.hot_spots.standing


@pytest.mark.parametrize("earned", [0, 3])
def test_a_burst_that_is_over_breaks_no_bound_when_its_source_rests(batch: Batch, earned: int) -> None:
    """Its last second was told as broken for nine more, in which nothing came and nothing waited."""
    modeller, story = watch(batch, [200.0] * 12, [30.0] * 6 + [400.0] * 6, earned=earned)
    spot = story[-1]["hotspot/talk"].body
    assert isinstance(spot, HotSpotModel)
    assert (0.0, BOUND_MS - 400.0) == (spot.in_s, spot.slack_ms)
    resting = {("edge-1", "free", "free.aa", "x"): second_of(1.0, 5.0)}
    told = []
    for second in range(1_012, 1_024):
        modeller.take(batch(second + 1.5, operator={seat: {second: sums} for seat, sums in resting.items()}))
        told.append(models_of(modeller).get("hotspot/talk"))
    assert told[0] is not None
    assert None is told[0].body.in_s, "taken back"
    assert {None} == set(told[1:])
    verdicts = modeller.hot_spots.verdicts
    assert (0, 1, 0) == (verdicts.hits, verdicts.misses, verdicts.false)


@pytest.mark.parametrize(("late_s", "waits", "stands"), [(0, 9.0, 4), (0, 0.0, 0), (2, 0.0, 0)])
def test_a_bound_stays_broken_while_what_waits_may_be_as_late(
    batch: Batch, late_s: int, waits: float, stands: int
) -> None:
    """Results that come every third second leave gaps; what a host that is late tells of is its newest second."""
    modeller, told = Modeller(FitParams(window_s=30, recent_s=5, alarm=AlarmParams(earned=3))), []
    modeller.know({"talk": FlowFacts(BOUND_MS, (), frozenset({"tcp"}))})
    for second in range(1_000, 1_030):
        of = second - late_s
        sums = second_of(200.0, 400.0) | {"waited": 200.0}
        if of > 1_020:
            sums |= {"timed": 0.0, "latency_ms": 0.0, "lag": waits}
        modeller.take(batch(second + 1.5, operator={SEAT: {of: sums}}))
        told.append(models_of(modeller).get("hotspot/talk"))
    first, *later = told[1_020 + late_s - 1_000 :]
    assert first is not None
    assert 0.0 == first.body.in_s
    assert [True] * stands == [
        0.0 == each.body.in_s for each in later if each is not None and each.body.in_s is not None
    ]


def test_a_flow_that_stalls_is_late_for_as_long_as_it_does(batch: Batch) -> None:
    """After ten seconds without a result it had no slack, and its warning was taken back."""
    modeller, _ = watch(batch, [200.0] * 12, [30.0] * 12, earned=3)
    for second in range(1_012, 1_036):
        stuck = {"rows": 1.0, "lag": 200.0 * (second - 1_011)}
        modeller.take(batch(second + 1.5, operator={SEAT: {second: stuck}}))
        found = models_of(modeller)
        slack = found["slack/talk"].body
        assert isinstance(slack, SlackModel)
        waited_ms = (second - 1_012) * 1e3
        assert BOUND_MS - max(30.0, waited_ms) == slack.slack_ms
        if waited_ms:
            spot = found["hotspot/talk"].body
            assert isinstance(spot, HotSpotModel)
            assert (0.0, "edge-1", slack.slack_ms) == (spot.in_s, spot.host, spot.slack_ms)
            assert max(slack.ahead_slack_ms) < slack.slack_ms + 1.0
    modeller.take(batch(1_037.5, operator={SEAT: {1_036: second_of(900.0, 30.0)}}))
    assert 1 == modeller.hot_spots.verdicts.misses


def test_a_bound_that_breaks_without_a_warning_is_a_miss(batch: Batch) -> None:
    """The score must be honest about what nobody saw coming."""
    modeller, _ = watch(batch, [200.0] * 40, [30.0] * 35 + [500.0] * 5)
    assert (0, 1) == (modeller.hot_spots.verdicts.hits, modeller.hot_spots.verdicts.misses)


def test_a_bound_that_breaks_in_a_second_without_models_is_a_miss_too(batch: Batch) -> None:
    """On a busy machine a batch closes three seconds: only every third break would have counted."""
    modeller = Modeller(FitParams(window_s=30, recent_s=5))
    modeller.know({"talk": FlowFacts(BOUND_MS, (), frozenset({"tcp"}))})
    for last in range(1_002, 1_040, 3):
        seconds = range(last - 2, last + 1)
        cells = {SEAT: {each: second_of(200.0, 500.0 if each == 1_030 else 30.0) for each in seconds}}
        modeller.take(batch(last + 1.5, operator=cells))
        models_of(modeller)
    verdicts = modeller.hot_spots.verdicts
    assert (0, 1) == (verdicts.hits, verdicts.misses), "1,030 lies between 1,029 and 1,032"
    slack = models_of(modeller)["slack/talk"].body
    assert isinstance(slack, SlackModel)
    assert None not in slack.ahead_error_ms, "also a second ahead"


@pytest.mark.parametrize(("leaves", "false"), [(1_050, 0), (10_000, 1)])
def test_a_warning_that_was_heeded_is_not_false(batch: Batch, leaves: int, false: int) -> None:
    """Who left is company no more, so that nobody knows what would have been; else the alarm would learn silence."""
    climb = [200.0] * 30 + [200.0 + 20.0 * step for step in range(20)]
    modeller, story = watch(batch, climb + [300.0] * 30, [30.0] * 80, other=(400.0, None), leaves=leaves)
    warned = [place for place, models in enumerate(story) if "hotspot/talk" in models]
    assert 30 < warned[0] < 50
    verdicts = modeller.hot_spots.verdicts
    assert (0, 0, false) == (verdicts.hits, verdicts.misses, verdicts.false)


@pytest.mark.parametrize(("other", "leaving"), [((1.0, None), ("talk",)), ((600.0, 40.0), ("free",))])
def test_only_who_should_leave_is_named(
    batch: Batch, other: tuple[float, float | None], leaving: tuple[str, ...]
) -> None:
    """If all on a hot host sent ants, all would go to the same cool one. Of two, the one that leaves the most slack."""
    climb = [200.0] * 30 + [200.0 + 20.0 * step for step in range(50)]
    _, story = watch(batch, climb, [30.0] * 80, other=other)
    body = next(models["hotspot/talk"] for models in story if "hotspot/talk" in models).body
    assert isinstance(body, HotSpotModel)
    assert leaving == body.leavers


def test_a_slack_ahead_says_how_far_off_such_forecasts_were(batch: Batch) -> None:
    """Nothing before one has come due; then the mean size of the errors, and over the slack itself as the error."""
    _, story = watch(batch, [200.0] * 40, [30.0] * 20 + [60.0] * 20)
    first, last = story[0]["slack/talk"], story[-1]["slack/talk"]
    assert isinstance(first.body, SlackModel)
    assert isinstance(last.body, SlackModel)
    assert {None} == {first.error, *first.body.ahead_error_ms}
    errors_ms = [error or 0.0 for error in last.body.ahead_error_ms]
    soon, latest = errors_ms[0], errors_ms[-1]
    assert sorted(errors_ms) == errors_ms
    assert 0 < soon < latest < 31.0, "the jump of 30 ms was missed for longer, the longer the horizon is"
    assert pytest.approx(soon / last.body.slack_ms, rel=1e-4) == last.error


def test_a_slack_ahead_is_held_against_its_second_not_against_the_mean_of_the_last_ones(batch: Batch) -> None:
    """A second of 430 ms is missed by 400; in the mean of five it would be a miss of 80, five times over."""
    _, story = watch(batch, [200.0] * 40, [30.0] * 39 + [430.0])
    before, after = (models["slack/talk"].body for models in story[-2:])
    assert isinstance(before, SlackModel)
    assert isinstance(after, SlackModel)
    calm, missed = before.ahead_error_ms[0], after.ahead_error_ms[0]
    assert calm is not None
    assert missed is not None
    counted = (1 - KEEP**38) / (1 - KEEP)
    assert 400.0 == pytest.approx(missed * (1 + counted * KEEP) - calm * counted * KEEP, abs=5.0)


def test_what_is_known_of_a_flow_ends_with_it(batch: Batch) -> None:
    """A slack that stands on the topic for ever would be taken for a flow that runs."""
    modeller, story = watch(batch, [200.0] * 5, [30.0] * 5)
    assert "slack/talk" in story[-1]
    for second in range(1_005, 1_070):
        modeller.take(batch(second + 1.5, operator={("edge-1", "free", "free.aa", "x"): {second: second_of(1.0, 5.0)}}))
    assert {"slack/talk", "hotspot/talk"} <= set(modeller.sweep())
