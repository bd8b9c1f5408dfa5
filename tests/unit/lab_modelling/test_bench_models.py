"""What the bench of the models makes of what it saw, without a broker."""

import msgspec
import numpy as np
import pytest

from placement.hotspots import AlarmParams
from services.lab.dataplane.ground import BenchError
from services.lab.modelling import curve, feed, measures
from services.lab.modelling.curve import measure_curve, points
from services.lab.modelling.feed import Feed, Feeder
from services.lab.modelling.measures import Params, Seen, rows
from services.lab.modelling.restart import FLOW_TIMEOUT_S, Outage, restart_rows, watch
from services.lab.results import Row
from services.modelling.flow_facts import facts_of
from services.modelling.mirror_layout import KINDS
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows, Sums
from services.modelling.sums import COLUMNS, SEPARATOR
from services.settings import Settings
from topics.catalogue import MODELS
from topics.messages import HostMetrics, LinkMetrics, Model, OperatorMetrics, RateModel

KEY = "rate/bench-0/operator-0"


class Clock:
    """Goes on when somebody pauses."""

    def __init__(self, at_s: float) -> None:
        self.at_s = at_s

    def now_s(self) -> float:
        return self.at_s

    def pause(self, time_s: float) -> None:
        self.at_s += time_s


def test_an_outage_ends_with_a_model_of_a_second_after_the_kill() -> None:
    """A model of the second of the kill may still be the dead service's; reads that find nothing are counted."""
    clock, told = Clock(100.3), iter([98, None, 99, 100, 101])
    outage = watch(lambda: next(told), 100.3, now_s=clock.now_s, pause=clock.pause)
    assert (pytest.approx(0.08), 5, 1) == (outage.lasted_s, outage.reads, outage.empty)


def test_models_that_never_come_again_are_a_failure_of_the_bench() -> None:
    """It says so instead of waiting for ever."""
    clock = Clock(100.0)
    with pytest.raises(BenchError, match=f"{FLOW_TIMEOUT_S:.0f} s"):
        watch(lambda: 99, 100.0, now_s=clock.now_s, pause=lambda time_s: clock.pause(1_000 * time_s))


def test_kills_are_told_with_their_spread() -> None:
    """The middle of three, the best and the worst, the share of reads without a model, and how many had no end."""
    unanswered, lasted, empty = restart_rows([Outage(30.0, 100, 0), Outage(20.0, 100, 1), Outage(40.0, 100, 0)], 4, "x")
    assert 1.0 == unanswered.value
    assert (30.0, (20.0, 40.0), 3) == (lasted.value, lasted.spread, lasted.repetitions)
    assert (0.0, (0.0, 0.01)) == (empty.value, empty.spread)
    assert [2.0] == [row.value for row in restart_rows([], 2, "x")]


def test_a_kill_without_an_end_costs_nothing_of_what_was_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes after twenty minutes of feeding."""

    def restart(*given: object) -> Outage:
        ends.append(1)
        if len(ends) == 2:
            raise BenchError("models after kill -9: not in 240 s")
        return Outage(20.0, 100, 0)

    ends: list[int] = []
    monkeypatch.setattr(measures, "_restart", restart)
    warnings: list[str] = []
    found = measures._kill_some_times(
        Params(restarts=3),
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        KEY,
        say=lambda text: None,
        warn=warnings.append,
    )
    assert 2 == len(found)
    assert ["kill 2 of 3: models after kill -9: not in 240 s"] == warnings


def test_a_feed_that_ends_early_is_told_and_counts_as_far_as_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes no more rows in the last minute must not cost the others."""
    feeder, wrote = Feeder("127.0.0.1:1"), []

    def write_second(rows: object, second: int, more: object) -> None:
        if second == 103:
            raise BenchError("the broker takes no rows for 60 s")
        wrote.append(second)

    monkeypatch.setattr(feeder, "write_second", write_second)
    warnings: list[str] = []
    params = Params(rows=10, seconds=30, warm_s=1)
    assert 3 == measures._feed(params, feeder, Seen(), 100, say=lambda text: None, warn=warnings.append)
    assert [100, 101, 102] == wrote
    assert ["the feed ended after 3 of 30 s: the broker takes no rows for 60 s"] == warnings


def test_the_curve_has_each_load_on_each_number_of_cores_and_on_a_cluster_once() -> None:
    """One and two cores, ten times the rows, ten times the operators."""
    alone = points(Params(seconds=30, warm_s=10))
    assert [(1, 2_000, 2_000), (1, 20_000, 2_000), (1, 20_000, 20_000)] == [
        (each.cores, each.rows, each.feed.operators) for each in alone[:3]
    ]
    assert [each.rows for each in alone[:3]] == [each.rows for each in alone[3:]]
    assert {2} == {each.cores for each in alone[3:]}
    assert [640, 640, 1_540] * 2 == [each.heap_mb for each in alone], "ten times the operators need more"
    cluster = points(Params(master="spark://127.0.0.1:7077"))
    assert ["spark://127.0.0.1:7077"] * 3 == [each.spark for each in cluster]


def test_where_a_load_is_too_much_the_curve_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the curve is what it is measured for."""

    def measured(params: Params, settings: object, *, say: object, warn: object) -> list[Row]:
        if params.cores == 1 and params.rows == 20_000:
            raise BenchError("no model came") if params.feed.operators == 2_000 else RuntimeError("Spark broke down")
        return [Row.of(f"share of rows not modelled in time: {params.name}", [0.0], "share")]

    monkeypatch.setattr(curve, "measure", measured)
    warnings: list[str] = []
    found = measure_curve(Params(), Settings(), say=lambda text: None, warn=warnings.append)
    assert [0.0, 1.0, 1.0, 0.0, 0.0, 0.0] == [row.value for row in found]
    assert 2 == len(warnings)


def test_rows_whose_models_never_came_are_a_share_and_not_left_out() -> None:
    """A service that falls behind must not look fast by the few rows that it did."""
    feeder = Feeder("127.0.0.1:1")
    feeder.appended_ms = {(KEY, second): second * 1_000 + 100 for second in range(100, 104)}
    seen = Seen(known_s={(KEY, second): second + 1.6 for second in (101, 102)}, behind_s=9, restarts=2)
    told = {"batch_seconds": 0.5, "memory_bytes": 1e9, "sums": 0.1, "fits": 0.2, "writing": 0.2}
    told |= {"query_failures_total": 1.0}
    seen.figures = [(102.0, told)]
    found = rows(Params(seconds=6, warm_s=1), seen, feeder, 99, 7.0)
    made = {row.measure.partition(":")[0]: row for row in found}
    assert 1.5 == pytest.approx(made["metric to model, p95"].value)
    assert 0.5 == made["share of rows not modelled in time"].value
    assert 9.0 == made["models behind at the end of the feed"].value
    assert 1.0 == made["failures of the query"].value
    assert 2.0 == made["starts of the service again during the feed"].value
    assert 1 == len(list(seen.complaints(6)))


def test_without_any_model_all_else_is_told() -> None:
    """That a load is too much is a result, and memory tells why."""
    feeder = Feeder("127.0.0.1:1")
    feeder.appended_ms = {(KEY, second): second * 1_000 + 100 for second in range(100, 104)}
    seen = Seen(lost_reads=3, fault="no Redis")
    made = {row.measure.partition(":")[0]: row for row in rows(Params(seconds=6, warm_s=1), seen, feeder, 99, 7.0)}
    assert 1.0 == made["share of rows not modelled in time"].value
    assert "metric to model, p95" not in made
    assert [
        "no model came within 6 s: the load is too much",
        "3 reads of Redis failed, the last with: no Redis",
    ] == list(seen.complaints(6))


def model(second: int) -> bytes:
    """Of a rate, as Redis has it."""
    body = RateModel(flow="bench-0", segment="s", operator="operator-0", per_s=1.0, recent_per_s=1.0, recent_s=10)
    told = Model(key=KEY, second=second, window_s=120, samples=9, error=None, made_ms=1, batch=1, body=body)
    return MODELS.codec.encode(told, topic="t")


def test_a_second_is_known_from_the_first_look_at_a_model_of_it_or_a_later_one() -> None:
    """Models may skip seconds when a batch takes long: those were not readable before."""
    seen = Seen()
    seen.learn({KEY: None}, 1.0)
    for now_s, second in ((2.0, 100), (2.5, 100), (4.0, 102), (4.5, 101)):
        seen.learn({KEY: model(second), "rate/bench-1/operator-0": None}, now_s)
    assert {(KEY, 100): 2.0, (KEY, 101): 4.0, (KEY, 102): 4.0} == seen.known_s


class FullQueue:
    """A producer whose queue has room again after some polls."""

    def __init__(self, polls: int) -> None:
        self.polls = polls
        self.taken = 0

    def produce(self, *given: object, **named: object) -> None:
        if self.polls > 0:
            raise BufferError("Local: Queue full")
        self.taken += 1

    def poll(self, time_s: float) -> None:
        self.polls -= 1


def test_a_full_queue_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a broker or the whole machine stalls, the client's queue fills within seconds."""
    feeder = Feeder("127.0.0.1:1")
    feeder._producer = queue = FullQueue(3)
    feeder.write(Feed(2).rows(100))
    assert (2, 2) == (queue.taken, feeder.written)
    monkeypatch.setattr(feed, "QUEUE_TIMEOUT_S", -1.0)
    queue.polls = 3
    with pytest.raises(BenchError, match="Queue full"):
        feeder.write(Feed(2).rows(100))


def test_the_feed_has_what_all_models_are_made_of() -> None:
    """Without bounds, latencies and upstream operators the dearest models were not made, and the bench told of less."""
    made_up = Feed(120, partitions=2)
    facts = facts_of(made_up.flows(1))
    assert 12 == len(facts)
    assert all(each.bound_ms is not None and each.upstream for each in facts.values())
    timed = {(row.flow, row.operator) for row in made_up.rows(100) if row.latency_ms is not None}
    assert {(flow, "operator-9") for flow in facts} == timed
    assert {row.flow for row in made_up.rows(100)} == facts.keys()
    more = list(made_up.more_rows(100))
    assert {"host-0", "host-1", "host-2"} == {row.host for row in more if isinstance(row, HostMetrics)}
    peers = {row.peer for row in more if isinstance(row, LinkMetrics) and row.host == "host-0"}
    assert {"broker/1", "host-1", "host-2"} == peers


def test_the_bench_makes_every_kind_of_model() -> None:
    """What the service does for the feed, without Spark and a broker: no kind is left out of what is measured.

    Warnings only once some have come true; here at once.
    """
    made_up, modeller = Feed(200), Modeller(FitParams(signature_every_s=1, alarm=AlarmParams(earned=0)))
    modeller.know(facts_of(made_up.flows(1)))
    kinds = set()
    for second in range(1_000, 1_090):
        modeller.take(sums_of(made_up, second))
        kinds |= {key.partition("/")[0] for columns in modeller.models() for key in columns.keys}
    assert set(KINDS) - {"score"} == kinds
    modeller.know(dict(modeller.flows))  # guides are looked for once in two minutes, and when flows change
    assert (modeller.forecasts._forecaster.guides.upstream >= 0).mean() > 0.3


def sums_of(made_up: Feed, second: int) -> Rows:
    """As Spark sums rows of one partition."""
    seats: dict[str, dict[str, dict[str, float]]] = {"operator": {}, "host": {}, "link": {}}
    for row in (*made_up.rows(second), *made_up.more_rows(second)):
        match row:
            case OperatorMetrics():
                told = {name: float(getattr(row, name)) for name in ("arrivals", "outputs", "bytes_in", "bytes_out")}
                served = dict(
                    zip(("served", "service_us", "service_us_sq"), msgspec.structs.astuple(row.service_us), strict=True)
                )
                gaps = {"gaps": float(row.arrivals), "gaps_sq": 2.0 * row.arrivals}
                timed = {"timed": row.latency_ms.count, "latency_ms": row.latency_ms.sum} if row.latency_ms else {}
                names = (row.host, row.flow, row.segment, row.operator)
                seats["operator"][SEPARATOR.join(names)] = {"rows": 1.0, **told, **served, **gaps, **timed}
            case LinkMetrics():
                trip = row.round_trip_ms
                told = {"rows": 1.0, "sent": row.sent, "answers": trip.count, "fastest_ms": trip.min}
                told |= {"round_trip_ms": trip.sum, "round_trip_ms_sq": trip.sum_sq}
                seats["link"][SEPARATOR.join((row.host, row.peer))] = told
            case HostMetrics():
                seats["host"][row.host] = {"rows": 1.0, "capacity": row.capacity}
    kinds = {}
    for kind, cells in seats.items():
        values = np.array([[told.get(name, 0.0) for told in cells.values()] for name in COLUMNS[kind]])
        kinds[kind] = Sums(list(cells), np.full(len(cells), second), values, np.full(len(cells), second * 1_000))
    return Rows(kinds, (), (second + 1) * 1_000)
