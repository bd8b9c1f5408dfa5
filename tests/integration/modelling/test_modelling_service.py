"""The modelling service on a real broker, Redis and Spark: its models, what it sets aside, and what it survives.

The tests run in this order: the life of one service, under a feed of exactly the same arrivals in every second.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import dropwhile

import msgspec
import pytest

from services.lab.modelling.feed import operator_row
from services.modelling.checkpoint import SHAPE, has_begun
from services.modelling.lateness import LATE_S
from services.modelling.old_models import old_keys
from tests.integration.modelling.ground import ARRIVALS, KEY, OPERATORS, WINDOW_S, Ground, Pace, wait_until
from topics.catalogue import METRICS_LINKS, METRICS_OPERATORS, MODELS
from topics.messages import HotSpotModel, LinkMetrics, Model, RejectedMetrics, Sketch


def rate_of(model: Model, arrivals: Mapping[int, int], over_s: int = WINDOW_S) -> float:
    """What the rate of a model's last seconds should be, by what the broker has."""
    seconds = range(model.second - over_s + 1, model.second + 1)
    return sum(arrivals.get(second, 0) for second in seconds) / over_s


def is_filled(model: Model) -> bool:
    """Whether a model knows its window, but for the last seconds, of which a late host has not told yet."""
    return model.samples >= WINDOW_S - LATE_S


def counts_twice(model: Model, arrivals: Mapping[int, int]) -> bool:
    """Whether a rate is larger than any that the broker's rows allow, however many last seconds it does not know."""
    window = [arrivals.get(second, 0) for second in range(model.second - WINDOW_S + 1, model.second + 1)]
    window = [*dropwhile(lambda count: not count, window)]  # a rate begins with the first row
    most = max(sum(window[:end]) / end for end in range(max(1, len(window) - LATE_S), len(window) + 1))
    return bool(model.body.per_s > most * (1 + 1e-5))


def is_whole(model: Model, arrivals: Mapping[int, int]) -> bool:
    """Whether a model's window holds exactly what the broker has of it."""
    return WINDOW_S == model.samples and model.body.per_s == pytest.approx(rate_of(model, arrivals), rel=1e-5)


def whole_window(ground: Ground, since: int) -> int:
    """Waits for a model later than this second whose window is whole; its second."""

    def found() -> int | None:
        model = ground.model(KEY)
        if model is None or model.second <= since:
            return None
        return model.second if is_whole(model, ground.arrivals(KEY)) else None

    return int(wait_until(found, f"a whole window after second {since}; now {ground.model(KEY)}"))


def test_metrics_become_models_in_redis_and_on_the_topic(ground: Ground, pace: Pace) -> None:
    """Every figure is known: the feed has the same arrivals, service and variation in every second.

    Where the machine stalls, rows are astray and count when they came: so rates are compared with what the broker has.
    """
    trip = LinkMetrics(
        host="a", peer="broker/1", second=int(time.time()), sent=3, lost=1, round_trip_ms=Sketch.of([10.0, 14.0])
    )
    ground.feeder.write_value(METRICS_LINKS.name, METRICS_LINKS.codec.encode(trip, topic="t"))
    ground.feeder.flush()

    def is_told(model: Model, per_s: float, *, over_s: int) -> bool:
        return per_s == pytest.approx(rate_of(model, ground.arrivals(KEY), over_s), rel=1e-5)

    rate = ground.model_when(
        KEY,
        lambda model: (
            is_whole(model, ground.arrivals(KEY))
            and is_told(model, model.body.recent_per_s, over_s=model.body.recent_s)
            and 0.5 == model.body.selectivity
            and 1.0 == pytest.approx(model.body.ca2, abs=0.05)
        ),
    )
    ground.model_when(
        "service/bench-0/operator-0/host-0",
        lambda model: (
            20.0 == pytest.approx(model.body.mean_us)
            and 0.5 == pytest.approx(model.body.cs2, abs=0.01)
            and is_told(model, model.body.host_per_s / OPERATORS, over_s=rate.body.recent_s)
        ),
    )
    ground.model_when(
        "edge/bench-0/bench-0.0",
        lambda model: (
            is_told(model, model.body.bytes_in_per_s / 200.0, over_s=WINDOW_S)
            and is_told(model, model.body.bytes_out_per_s / 100.0, over_s=WINDOW_S)
        ),
    )
    ground.model_when(
        "forecast/bench-0/operator-0", lambda model: ARRIVALS == pytest.approx(model.body.per_s[0], rel=0.05)
    )
    link = ground.model_of("link/a/broker/1", 0).body
    assert (6.0, 5.0) == (link.mean_ms, link.min_ms)
    wait_until(lambda: rate.order in {model.order for model in ground.models(KEY)}, "the same model on the topic")


def stigmergy(ground: Ground, *arguments: str) -> str:
    """What a command says."""
    command = [sys.executable, "-m", "services.cli.main", *arguments]
    addresses = {"STIGMERGY_BOOTSTRAP": ground.stack.bootstrap, "STIGMERGY_REDIS_URL": ground.stack.redis_url}
    environment = {**os.environ, **addresses, "STIGMERGY_HOME": str(ground.service.folder / "no-home")}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert 0 == ended.returncode, ended.stderr
    return ended.stdout


def test_the_command_lists_models_and_shows_one_with_its_fit(ground: Ground, pace: Pace) -> None:
    """With error, samples and age, for people and for programs; the plot has the measured points."""
    ground.model_of(KEY, pace.first + 8)
    listed = json.loads(stigmergy(ground, "models", "list", "--kind", "rate", "--of", "bench-0", "--json"))["models"]
    assert [f"rate/bench-0/operator-{number}" for number in range(4)] == [model["key"] for model in listed]
    assert all({"error", "samples", "window_s", "age_s"} <= set(model) for model in listed)

    def is_shown() -> bool:
        shown = stigmergy(ground, "models", "show", KEY)
        return "/s, lately " in shown and "┼" in shown

    wait_until(is_shown, "the rate and its plot")  # seconds whose rows came late may all lie off the line
    assert "host-0" in stigmergy(ground, "models", "show", "service/bench-0/operator-0/host-0")


def test_what_a_host_warns_of_is_listed_and_found_when_it_is_old(ground: Ground, pace: Pace) -> None:
    """Redis has none of it; nobody takes it back if the host dies."""
    key = "hotspot/bench-0/host-0"

    def listed() -> str:
        """Right after it was said: hosts say it again every five seconds."""
        now_ms = time.time_ns() // 1_000_000
        body = HotSpotModel("bench-0", "host-0", "operator-0", 0.4, -1.0, 0.9)
        warning = Model(key, now_ms // 1_000, 1, 1, None, now_ms, 0, body)
        ground.feeder.write_value(MODELS.name, MODELS.codec.encode(warning, topic=MODELS.name), key)
        ground.feeder.flush()
        return stigmergy(ground, "models", "list", "--kind", "hotspot", "--json")

    wait_until(lambda: f'"{key}"' in listed(), "the warning in the list")
    assert key in old_keys(ground.stack.bootstrap, before_ms=time.time_ns() // 1_000_000 + 60_000)
    assert set() == old_keys(ground.stack.bootstrap, before_ms=1)


def test_garbage_is_set_aside_with_its_offset_and_the_rest_goes_on(ground: Ground, pace: Pace) -> None:
    """One bad host must not blind the models of all others."""
    row = msgspec.to_builtins(operator_row(900, 0, int(time.time()), 5))
    bad = [
        b"\xff not json",
        b"[]",
        json.dumps(row | {"arrivals": float("nan")}).encode(),
        json.dumps(row | {"service_us": [3, -1.0, 2.0]}).encode(),
        json.dumps(row | {"version": 2}).encode(),
        json.dumps(row | {"second": -(2**63)}).encode(),
        json.dumps(row | {"flow": "a/b"}).encode(),
        json.dumps({name: value for name, value in row.items() if name != "second"}).encode(),
    ]
    before = wait_until(ground.service.figures, "its figures")["rejected_total"]
    for value in bad:
        ground.feeder.write_value(METRICS_OPERATORS.name, value)
    tiny = msgspec.to_builtins(operator_row(910, 0, int(time.time()), 5)) | {"gaps_us": [5, 1e-200, 1]}
    ground.feeder.write_value(METRICS_OPERATORS.name, json.dumps(tiny).encode())
    ground.feeder.flush()
    wait_until(lambda: ground.service.figures().get("rejected_total", 0) >= before + len(bad), "the garbage")
    assert before + len(bad) == wait_until(ground.service.figures, "its figures")["rejected_total"]
    wait_until(lambda: len(offsets_of(ground.rejected())) >= len(bad), "all of it set aside")
    rejected = ground.rejected()
    assert len(bad) == len(offsets_of(rejected))
    assert {METRICS_OPERATORS.name} == {each.origin.topic for each in rejected}
    assert bad[0] in [each.value for each in rejected]
    assert ground.model("rate/bench-90/operator-0") is None
    ground.model_of("rate/bench-91/operator-0", 0)
    ground.model_of(KEY, int(time.time()))


def offsets_of(rejected: list[RejectedMetrics]) -> set[tuple[int, int]]:
    return {(each.origin.partition, offset) for each in rejected for offset in each.offsets}


def test_rows_of_a_host_that_is_a_release_ahead_are_modelled(ground: Ground, pace: Pace) -> None:
    """A rolling upgrade must not cost the models of the hosts that are already through."""
    row = msgspec.to_builtins(operator_row(500, 0, int(time.time()), 600)) | {"fetched": 3, "tags": ["a"]}
    ground.feeder.write_value(METRICS_OPERATORS.name, json.dumps(row).encode())
    ground.feeder.flush()
    ground.model_of("rate/bench-50/operator-0", 0)


def test_a_clock_an_hour_off_is_set_right_by_the_brokers(ground: Ground, pace: Pace) -> None:
    """Its rows are modelled at the time of their arrival, and hold up nobody else's; late ones still count."""
    now = int(time.time())
    ground.feeder.write([operator_row(200, 0, now + 3_600, 700), operator_row(300, 0, now - 3_600, 800)])
    ground.feeder.write([operator_row(400, 0, now - 4, 900)])
    ground.feeder.flush()
    for flow, arrivals in (("bench-20", 700), ("bench-30", 800), ("bench-40", 900)):

        def is_counted(flow: str = flow, arrivals: int = arrivals) -> bool:
            """In some model: its window moves on, also while nobody looks."""
            return any(
                arrivals == pytest.approx(model.body.per_s * model.samples, rel=1e-4)
                for model in ground.models(f"rate/{flow}/operator-0")
            )

        wait_until(is_counted, f"all arrivals of {flow}")
    wait_until(lambda: ground.service.figures().get("astray_total", 0) >= 2, "two rows astray")
    ground.model_of(KEY, now + 3)


def test_models_go_on_without_redis_and_are_there_again_when_it_is(ground: Ground, pace: Pace) -> None:
    """Redis is a mirror: the topic has everything."""
    os.kill(ground.pid("redis"), signal.SIGSTOP)
    try:
        wait_until(lambda: ground.service.figures().get("mirror_failures_total", 0) > 0, "a failure to mirror")
        now = int(time.time())
        wait_until(lambda: ground.models(KEY)[-1].second > now, "models on the topic")
    finally:
        os.kill(ground.pid("redis"), signal.SIGCONT)
    ground.model_of(KEY, int(time.time()))


def test_models_go_on_after_a_broker_was_killed(ground: Ground, pace: Pace) -> None:
    """Nothing is lost: the broker comes back with all that it acknowledged, and the feed with what it did not."""
    os.kill(ground.pid("broker-1"), signal.SIGKILL)
    wait_until(lambda: ground.stack.records()[0].restarts >= 1, "the broker to be started again")
    ground.model_of(KEY, int(time.time()) + 1)
    assert ground.service.is_running()


def test_kill_9_loses_no_window_and_counts_none_twice(ground: Ground, pace: Pace) -> None:
    """The last models stay in use meanwhile; afterwards every second is there once, also those of the time between."""
    before = whole_window(ground, pace.first + WINDOW_S)
    ground.service.end(signal.SIGKILL)
    wait_until(lambda: ground.model(KEY), "the last model")
    restarted_ms = time.time_ns() // 1_000_000
    ground.service.start()
    whole_window(ground, int(time.time()))
    models = [model for model in ground.models(KEY) if model.second >= before]
    arrivals = ground.arrivals(KEY)  # after the models: those must know of nothing that is not in here
    assert [] == [model for model in models if counts_twice(model, arrivals)]
    first_again = next(model for model in models if model.made_ms > restarted_ms)
    assert is_filled(first_again), "the ring was not filled from kept metrics"


def test_without_a_checkpoint_that_it_can_read_it_begins_with_kept_metrics(ground: Ground, pace: Pace) -> None:
    """SIGTERM ends it cleanly; a broken folder is put aside and costs nothing that the metrics topics still have."""
    assert 0 == ground.service.end(signal.SIGTERM)
    assert ground.service.count("stopped")
    checkpoint = ground.service.folder / "checkpoint"
    (checkpoint / "metadata").write_text("no JSON")
    ground.service.start()
    assert (checkpoint.with_name("checkpoint.unreadable") / "metadata").exists()
    began = int(time.time())
    assert is_filled(ground.model_of(KEY, began - 5))
    whole_window(ground, began)


def test_a_checkpoint_of_another_release_is_put_aside_at_once(ground: Ground, pace: Pace) -> None:
    """An upgrade with further sums costs no window, and no time with a query that can't begin."""
    whole_window(ground, pace.first + WINDOW_S)
    checkpoint = ground.service.folder / "checkpoint"
    wait_until(lambda: has_begun(checkpoint), "a committed batch")
    assert 0 == ground.service.end(signal.SIGTERM)
    told = json.loads((checkpoint / SHAPE).read_text())
    told["columns"]["operator"].pop()
    (checkpoint / SHAPE).write_text(json.dumps(told))
    failures = ground.service.count("the query ended")
    ground.service.start()
    began = int(time.time())
    assert has_begun(checkpoint.with_name("checkpoint.outdated"))
    assert is_filled(ground.model_of(KEY, began - 5))
    assert failures == ground.service.count("the query ended")
    whole_window(ground, began)


def test_a_back_test_runs_kept_metrics_through_the_same_code(ground: Ground, pace: Pace) -> None:
    """A steady feed is forecast without error, and the line of service times is right."""
    scores = json.loads(stigmergy(ground, "models", "backtest", "--from", "-2m", "--json"))["scores"]
    found = {(score["of"], score["what"]): score for score in scores}
    assert 0.2 > found["forecast", "1 s"]["wape"]
    assert found["forecast", "1 s"]["predictions"] > 4 * 30
    assert 0.2 > found["service", "1 s"]["wape"]
