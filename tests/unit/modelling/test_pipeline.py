"""What is written of a micro-batch, with Spark's part played by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.modelling import pipeline as pipeline_module
from services.modelling.params import FitParams, ModellingParams, SparkParams
from services.modelling.pipeline import Pipeline
from services.modelling.rows import Rows
from topics.catalogue import MODELS

Batch = Callable[..., Rows]


class Book:
    """Keeps what it is given to write: the mirror's part, and that of the topic."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        self.records: list[tuple[str, str, bytes | None]] = []

    def write(self, keys: Sequence[str], values: Sequence[bytes], gone: Sequence[str]) -> bool:
        self.gone += gone
        return True

    def write_records(self, spark: Any, bootstrap: str, records: Sequence[tuple[str, str, bytes | None]]) -> None:
        self.records += records

    def close(self) -> None: ...


def test_models_of_what_fell_silent_get_a_tombstone_and_leave_redis(
    batch: Batch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A host that starts reads the whole topic: what vanished must not come back to life in it."""
    book = Book()
    monkeypatch.setattr(pipeline_module, "rows_of", lambda rows: rows)
    monkeypatch.setattr(pipeline_module.spark_kafka, "write", book.write_records)
    spark = SparkParams(jars=tmp_path, work=tmp_path)
    params = ModellingParams(
        bootstrap="", redis_url=None, checkpoint=tmp_path, spark=spark, fits=FitParams(window_s=20)
    )
    pipeline = Pipeline(None, params, now_ms=lambda: 1)  # type: ignore[arg-type]
    pipeline.mirror = book  # type: ignore[assignment]
    told = {"rows": 1.0, "arrivals": 10.0}
    for second in range(1_000, 1_060):
        stays = {("edge-1", "talk", "talk.aa", "tcp"): {second: told}}
        goes = {("edge-1", "brief", "brief.aa", "udp"): {second: told}} if second < 1_003 else {}
        rows = batch(second + 1.5, operator=stays | goes)
        pipeline.take(SimpleNamespace(toArrow=lambda rows=rows: rows), second)  # type: ignore[arg-type]
    pipeline.close()
    ended = {key for topic, key, value in book.records if topic == MODELS.name and value is None}
    kinds = {"rate/brief/udp", "forecast/brief/udp", "edge/brief/brief.aa", "slack/brief", "hotspot/brief"}
    assert kinds <= ended
    assert ended == set(book.gone)
    assert not any("talk" in key for key in ended), "who still speaks stays"
    last = {key: value for _, key, value in book.records}
    assert last["rate/brief/udp"] is None
    assert last["rate/talk/tcp"] is not None
