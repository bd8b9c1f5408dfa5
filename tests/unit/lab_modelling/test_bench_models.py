"""What the bench of the models makes of what it saw, without a broker."""

import pytest

from services.lab.dataplane.ground import BenchError
from services.lab.modelling import curve
from services.lab.modelling.curve import measure_curve, points
from services.lab.modelling.feed import Feeder
from services.lab.modelling.measures import Params, Seen, rows
from services.lab.modelling.restart import FLOW_TIMEOUT_S, Outage, restart_rows, watch
from services.lab.results import Row
from services.settings import Settings
from topics.catalogue import MODELS
from topics.messages import Model, RateModel

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
    """The middle of three, the best and the worst, and the share of reads without a model."""
    lasted, empty = restart_rows([Outage(30.0, 100, 0), Outage(20.0, 100, 1), Outage(40.0, 100, 0)], "x")
    assert (30.0, (20.0, 40.0), 3) == (lasted.value, lasted.spread, lasted.repetitions)
    assert (0.0, (0.0, 0.01)) == (empty.value, empty.spread)


def test_the_curve_has_each_load_on_each_number_of_cores_and_on_a_cluster_once() -> None:
    """One and two cores, ten times the rows, ten times the operators."""
    alone = points(Params(seconds=30, warm_s=10))
    assert [(1, 2_000, 2_000), (1, 20_000, 2_000), (1, 20_000, 20_000)] == [
        (each.cores, each.rows, each.feed.operators) for each in alone[:3]
    ]
    assert [each.rows for each in alone[:3]] == [each.rows for each in alone[3:]]
    assert {2} == {each.cores for each in alone[3:]}
    cluster = points(Params(master="spark://127.0.0.1:7077"))
    assert ["spark://127.0.0.1:7077"] * 3 == [each.spark for each in cluster]


def test_where_a_load_is_too_much_the_curve_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the curve is what it is measured for."""

    def measured(params: Params, settings: object, *, say: object) -> list[Row]:
        if params.cores == 1 and params.rows == 20_000:
            raise BenchError("no model came")
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
    seen = Seen(known_s={(KEY, second): second + 1.6 for second in (101, 102)}, behind_s=9)
    told = {"batch_seconds": 0.5, "memory_bytes": 1e9, "sums": 0.1, "fits": 0.2, "writing": 0.2}
    seen.figures = [(102.0, told)]
    found = rows(Params(seconds=6, warm_s=1), seen, feeder, 99, 7.0)
    made = {row.measure.partition(":")[0]: row for row in found}
    assert 1.5 == pytest.approx(made["metric to model, p95"].value)
    assert 0.5 == made["share of rows not modelled in time"].value
    assert 9.0 == made["models behind at the end of the feed"].value


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
