"""What is written of a micro-batch, with Spark's part played by hand."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisAway

from services.modelling import pipeline as pipeline_module
from services.modelling.exposition import exposition
from services.modelling.flow_verdicts import FlowVerdicts
from services.modelling.mirror import Mirror
from services.modelling.mirror_layout import EXPIRES_AFTER_S
from services.modelling.params import FitParams, ModellingParams, SparkParams
from services.modelling.pipeline import Figures, Pipeline
from services.modelling.rows import Rows
from topics.catalogue import MODELS
from topics.messages import HotSpotModel, Model, ScoreModel

Batch = Callable[..., Rows]
TOLD = {"rows": 1.0, "arrivals": 10.0}


class Book:
    """Keeps what it is given to write: the mirror's part, and that of the topic."""

    def __init__(self) -> None:
        self.failures = 0
        self.gone: list[str] = []
        self.records: list[tuple[str, str, bytes | None]] = []
        self.faults: list[Exception] = []
        """Raised instead of writing to the topic, each once."""
        self.kept: dict[str, list[Model]] | None = {}
        """What Redis has from before, by kind; None: it is away."""

    def write(self, keys: Sequence[str], values: Sequence[bytes], gone: Sequence[str]) -> bool:
        self.gone += gone
        return True

    def read(self, kind: str) -> list[Model] | None:
        return self.kept.get(kind, []) if self.kept is not None else None

    def models(self, key: str) -> list[Model]:
        """What was written of it to the topic."""
        values = [value for _, name, value in self.records if name == key and value is not None]
        return [MODELS.codec.decode(value, topic="t", partition=0, offset=0) for value in values]

    def write_records(self, spark: Any, bootstrap: str, records: Sequence[tuple[str, str, bytes | None]]) -> None:
        if self.faults and any(value is None for _, _, value in records):
            raise self.faults.pop()
        self.records += records

    def close(self) -> None: ...


class Stamps:
    """The broker's time."""

    def __init__(self) -> None:
        self.now_ms: float | None = None
        self.sent_ms: list[float] = []

    def local_ms(self) -> float:
        return 77.0

    def wrote(self, sent_ms: float) -> None:
        self.sent_ms.append(sent_ms)

    def close(self) -> None: ...


@pytest.fixture
def book() -> Book:
    return Book()


@pytest.fixture
def pipeline(book: Book, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Pipeline]:
    """It writes to the book, and is given rows for a data frame."""
    monkeypatch.setattr(pipeline_module, "rows_of", lambda rows: rows)
    monkeypatch.setattr(pipeline_module.spark_kafka, "write", book.write_records)
    spark = SparkParams(jars=tmp_path, work=tmp_path)
    params = ModellingParams(
        bootstrap="", redis_url=None, checkpoint=tmp_path, spark=spark, fits=FitParams(window_s=20)
    )
    made = Pipeline(None, params, now_ms=lambda: 1)  # type: ignore[arg-type]
    made.mirror = book  # type: ignore[assignment]
    made.broker_time = Stamps()  # type: ignore[assignment]
    yield made
    made.close()


def give(pipeline: Pipeline, rows: Rows, number: int) -> None:
    pipeline.take(SimpleNamespace(toArrow=lambda: rows), number)  # type: ignore[arg-type]


def speak(pipeline: Pipeline, batch: Batch, seconds: range) -> list[Rows]:
    """One operator speaks all the time, another one for the first three seconds; batches that raised, given again."""
    raised = []
    for second in seconds:
        stays = {("edge-1", "talk", "talk.aa", "tcp"): {second: TOLD}}
        goes = {("edge-1", "brief", "brief.aa", "udp"): {second: TOLD}} if second < seconds.start + 3 else {}
        rows = batch(second + 1.5, operator=stays | goes)
        try:
            give(pipeline, rows, second)
        except OSError:
            raised.append(rows)
            give(pipeline, rows, second)
    return raised


def test_models_of_what_fell_silent_get_a_tombstone_and_leave_redis(
    batch: Batch, pipeline: Pipeline, book: Book
) -> None:
    """A host that starts reads the whole topic: what vanished must not come back to life in it."""
    assert [] == speak(pipeline, batch, range(1_000, 1_060))
    ended = {key for topic, key, value in book.records if topic == MODELS.name and value is None}
    kinds = {"rate/brief/udp", "forecast/brief/udp", "edge/brief/brief.aa", "slack/brief", "hotspot/brief"}
    assert kinds <= ended
    assert ended == set(book.gone)
    assert not any("talk" in key for key in ended), "who still speaks stays"
    last = {key: value for _, key, value in book.records}
    assert last["rate/brief/udp"] is None
    assert last["rate/talk/tcp"] is not None


def test_what_was_told_long_ago_and_not_since_is_deleted(batch: Batch, pipeline: Pipeline, book: Book) -> None:
    """It went while the service did not run, or a host that died had warned of it: nobody else would ever delete it."""
    speak(pipeline, batch, range(1_000, 1_005))
    gone = {"rate/talk/udp", "hotspot/talk/edge-7", "link/edge-7/noc"}
    book.faults = [OSError("no broker")]
    pipeline.look_at({"rate/talk/tcp", "forecast/talk/tcp"} | gone)
    assert 1 == len(speak(pipeline, batch, range(1_005, 1_010))), "a batch that could not be written"
    assert sorted(gone) == [key for _, key, value in book.records if value is None], "once"
    assert gone == set(book.gone)


def test_what_this_process_told_long_ago_is_deleted_too(batch: Batch, pipeline: Pipeline, book: Book) -> None:
    """A warning that was taken back, or the signature of a stream that has become calm: its operator lives on."""
    book.kept = {"hotspot": [kept_model(HotSpotModel("talk", "edge-1", "tcp", 3.0, -1.0, 0.9))]}
    speak(pipeline, batch, range(1_000, 1_002))
    assert [None] == [model.body.in_s for model in book.models("hotspot/talk")]
    for second, ended in ((1_000 + EXPIRES_AFTER_S, []), (1_001 + EXPIRES_AFTER_S, ["hotspot/talk"])):
        pipeline.look_at({"hotspot/talk", "rate/talk/tcp"})
        stays = {("edge-1", "talk", "talk.aa", "tcp"): {second: TOLD}}
        give(pipeline, batch(second + 1.5, operator=stays), second)
        assert ended == [key for _, key, value in book.records if value is None and "brief" not in key]


def test_tombstones_are_written_also_if_the_first_try_fails(batch: Batch, pipeline: Pipeline, book: Book) -> None:
    """Spark gives the batch again; the operators that ended have been forgotten by then."""
    book.faults = [OSError("no broker")]
    assert 1 == len(speak(pipeline, batch, range(1_000, 1_060)))
    ended = [key for _, key, value in book.records if value is None]
    assert {"rate/brief/udp", "forecast/brief/udp", "slack/brief"} <= set(ended)
    assert len(set(ended)) == len(ended), "once"


class FlakyRedis:
    """A pipeline of it keeps what it is told to delete; it is away as often as it is told to be."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.deleted: list[str] = []
        self._told: list[str] = []

    def pipeline(self, *, transaction: bool) -> "FlakyRedis":
        self._told = []
        return self

    def __enter__(self) -> "FlakyRedis":
        return self

    def __exit__(self, *fault: object) -> None: ...

    def hset(self, name: str, mapping: dict[str, bytes]) -> None: ...

    def expire(self, name: str, seconds: int) -> None: ...

    def hdel(self, name: str, key: str) -> None:
        self._told.append(key)

    def execute(self) -> None:
        if self.away > 0:
            self.away -= 1
            raise RedisAway
        self.deleted += self._told

    def close(self) -> None: ...


def test_what_ended_while_redis_was_away_is_deleted_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash with other operators in it is written on, and never expires."""
    monkeypatch.setattr("services.modelling.mirror.PAUSE_S", 0.0)
    mirror, redis = Mirror("redis://nowhere"), FlakyRedis(away=1)
    mirror._redis = redis  # type: ignore[assignment]
    assert not mirror.write([], [], ["rate/f/a", "rate/f/b"])
    assert mirror.write(["rate/f/b"], [b"it lives again"], ["rate/f/c"])
    assert ["rate/f/a", "rate/f/c"] == redis.deleted
    assert mirror.write([], [], [])
    assert ["rate/f/a", "rate/f/c"] == redis.deleted, "once"


def test_models_go_on_after_the_brokers_clock_was_set_back(batch: Batch, pipeline: Pipeline, book: Book) -> None:
    """They are of earlier seconds than those before, and written all the same."""
    speak(pipeline, batch, range(9_000, 9_040))
    before = len(book.records)
    speak(pipeline, batch, range(1_000, 1_040))
    seconds = {
        MODELS.codec.decode(value, topic=topic, partition=0, offset=0).second
        for topic, key, value in book.records[before:]
        if value is not None and key == "rate/talk/tcp"
    }
    assert set(range(1_000, 1_040)) == seconds
    assert any(key.startswith("score/forecast") for _, key, _ in book.records[before:])


def test_kept_metrics_of_a_time_to_come_do_not_fill_the_ring(
    batch: Batch, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are from before the broker's clock was set back: with them no second would close for as long."""
    kept = batch(5_031.0, operator={("edge-1", "talk", "talk.aa", "tcp"): {5_030: TOLD}})
    monkeypatch.setattr(pipeline_module.spark_kafka, "history", lambda *given, **named: None)
    monkeypatch.setattr(pipeline_module, "sums_of", lambda *given, **named: SimpleNamespace(toArrow=lambda: kept))
    pipeline.refill(0)
    assert 0 == pipeline.modeller.closed
    pipeline._now_ms = lambda: 5_032_000
    pipeline.refill(0)
    assert 5_030 == pipeline.modeller.closed


def refill(pipeline: Pipeline, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """From these kept metrics."""
    monkeypatch.setattr(pipeline_module.spark_kafka, "history", lambda *given, **named: None)
    monkeypatch.setattr(pipeline_module, "sums_of", lambda *given, **named: SimpleNamespace(toArrow=lambda: rows))
    pipeline._now_ms = lambda: rows.appended_ms
    pipeline.refill(0)


def test_nothing_is_told_while_a_backlog_is_worked_off(
    batch: Batch, pipeline: Pipeline, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of it may end within a second, whose sum is then half of what the refilled ring had."""
    seat = ("edge-1", "talk", "talk.aa", "tcp")
    refill(pipeline, batch(1_021.0, operator={seat: dict.fromkeys(range(1_001, 1_021), TOLD)}), monkeypatch)
    half = {"rows": 1.0, "arrivals": 5.0}
    give(pipeline, batch(1_010.9, operator={seat: {1_009: TOLD, 1_010: half}}), 1)
    assert [] == book.records
    give(pipeline, batch(1_021.2, operator={seat: dict.fromkeys(range(1_010, 1_021), TOLD)}), 2)
    (model,) = book.models("rate/talk/tcp")
    assert (1_020, 10.0) == (model.second, model.body.per_s)


def kept_model(body: Any) -> Model:
    name = f"{body.of}/{body.what}" if isinstance(body, ScoreModel) else body.flow
    return Model(f"x/{name}", 990, 10, 1, None, 1, 1, body)


def test_after_a_restart_scores_go_on_and_standing_warnings_are_taken_back(
    batch: Batch, pipeline: Pipeline, book: Book
) -> None:
    """From what Redis has, as soon as it answers; else both would begin with nothing, and warnings stand for ever."""
    scores = [
        ScoreModel("forecast", "1 s", 1_000, 0.3, 0.4, size=10_000.0),
        ScoreModel("service", "1 s", 100, 0.1, 0.2, inside=0.7, size=500.0),
        ScoreModel("hotspot", "all", 10, precision=0.8, recall=0.5, lead_s=4.0, broken=16),
    ]
    spots = [HotSpotModel("talk", "edge-1", "tcp", 3.0, -1.0, 0.9), HotSpotModel("calm", "edge-1", "x", None, 0.0, 0.0)]
    book.kept = None
    speak(pipeline, batch, range(1_000, 1_002))
    assert [] == book.models("hotspot/talk")
    book.kept = {"score": [*map(kept_model, scores)], "hotspot": [*map(kept_model, spots)]}
    speak(pipeline, batch, range(1_002, 1_010))
    assert [None] == [model.body.in_s for model in book.models("hotspot/talk")]
    assert [] == book.models("hotspot/calm")
    ahead = book.models("score/forecast/1 s")[-1].body
    assert 1_000 < ahead.predictions < 1_020
    assert 0.3 == pytest.approx(ahead.wape, rel=0.02)
    assert 0.4 == pytest.approx(ahead.naive_wape, rel=0.02)
    assert pipeline.modeller.hot_spots.verdicts.alarm.speaks, "eight of ten came true: it need not earn its voice again"
    warned = book.models("score/hotspot/all")[-1].body
    assert (10, 0.8, 0.5, 4.0) == (warned.predictions, warned.precision, warned.recall, warned.lead_s)


def test_late_rows_are_counted_once_however_often_spark_tells_of_them(pipeline: Pipeline) -> None:
    """Who scrapes every fifteen seconds would see one batch in fifteen."""

    def progress(second: int, late: int) -> dict[str, Any]:
        states = [{"numRowsDroppedByWatermark": late, "numRowsTotal": 5}]
        return {"timestamp": f"12:00:{second:02}", "stateOperators": states, "sources": []}

    figures = Figures()
    for recent in ([], [progress(1, 2)], [progress(1, 2), progress(2, 3)], [progress(2, 3), progress(3, 0)]):
        figures.note(recent)
    assert 5 == figures.late
    pipeline.figures = figures
    lines = exposition(pipeline).splitlines()
    assert "# TYPE stigmergy_models_late_rows_total counter" in lines
    assert "stigmergy_models_late_rows_total 5" in lines


def test_warnings_are_judged_from_when_their_models_were_written(
    batch: Batch, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the broker's clock from the end of their second to the batch, by ours from there: the two may differ."""
    told: list[tuple[int, float]] = []
    clock_s = iter(range(1_000))
    monkeypatch.setattr(pipeline_module, "time", SimpleNamespace(monotonic=lambda: float(next(clock_s))))
    monkeypatch.setattr(FlowVerdicts, "told", lambda self, second, late_s: told.append((second, late_s)))
    seat = ("edge-1", "talk", "talk.aa", "tcp")
    give(pipeline, batch(1_001.5, operator={seat: {1_000: TOLD}}), 1)
    give(pipeline, batch(1_001.8, operator={seat: {1_001: TOLD}}), 2)
    ((second, late_s),) = told
    assert 1_000 == second
    assert 0.5 == late_s % 1.0, "and whole seconds by our clock"
    assert late_s > 2.0, "with what writing took"


def test_warnings_are_as_late_as_the_brokers_clock_says(
    batch: Batch, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark takes to begin a batch after its last row is in no other figure: leads were up to two seconds longer
    than anybody had."""
    told: list[float] = []
    monkeypatch.setattr(FlowVerdicts, "told", lambda self, second, late_s: told.append(late_s))
    seat, stamps = ("edge-1", "talk", "talk.aa", "tcp"), pipeline.broker_time
    stamps.now_ms = 1_003_200.0  # type: ignore[misc]
    give(pipeline, batch(1_001.5, operator={seat: {1_000: TOLD}}), 1)
    assert [2.2] == pytest.approx(told)
    assert [77.0] == stamps.sent_ms, "when they were sent, by our clock"  # type: ignore[attr-defined]
    stamps.now_ms = 900_000.0  # type: ignore[misc]
    give(pipeline, batch(1_002.5, operator={seat: {1_001: TOLD}}), 2)
    assert told[1] >= 0.5, "never less than what is certain"
