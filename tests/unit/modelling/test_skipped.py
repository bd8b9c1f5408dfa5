"""What nobody looks at when a query begins anew."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql.types import DoubleType, StructField, StructType

from services.modelling import service as service_module
from services.modelling import skipped as module
from services.modelling.checkpoint import agree, reached, shape_of
from services.modelling.exposition import exposition
from services.modelling.params import ModellingParams, SparkParams
from services.modelling.pipeline import Figures, Pipeline
from services.modelling.service import ClockSetBackError, Service
from services.modelling.skipped import tell_skipped
from services.registry.errors import RegistryError

HOSTS, LINKS = "stig.metrics.hosts", "stig.metrics.links"
SUMS = StructType([StructField("s0", DoubleType())])
OFFSETS = """v1
{"batchWatermarkMs":1000,"conf":{"spark.sql.shuffle.partitions":"2"}}
{"stig.metrics.links":{"0":7},"stig.metrics.hosts":{"1":20,"0":10}}"""


def begun(folder: Path) -> Path:
    """A checkpoint as Spark leaves it: a batch that was committed, and one that was under way."""
    agree(folder, shape_of(SUMS))
    for part, batches in (("commits", (8, 9)), ("offsets", (8, 9, 10))):
        (folder / part).mkdir()
        for batch in batches:
            (folder / part / str(batch)).write_text(OFFSETS if batch == 9 else OFFSETS.replace('"0":10', '"0":99'))
    return folder


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], tuple[int, int]]:
    """Of each partition the first offset since the time that is asked for (-1: none), and the next one."""
    known = {(HOSTS, 0): (15, 18), (HOSTS, 1): (-1, 26), (LINKS, 0): (3, 40)}

    @contextmanager
    def reader(bootstrap: str) -> Iterator[None]:
        if not known:
            raise RegistryError("no broker")
        yield None

    def since(consumer: Any, asked: list[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(at.topic, at.partition, known[at.topic, at.partition][0]) for at in asked]

    monkeypatch.setattr(module, "reader", reader)
    monkeypatch.setattr(module, "watermarks", lambda consumer, at: (0, known[at.topic, at.partition][1]))
    monkeypatch.setattr(module, "offsets_since", since)
    return known


Broker = dict[tuple[str, int], tuple[int, int]]


def test_a_checkpoint_says_up_to_where_its_last_batch_has_read(tmp_path: Path) -> None:
    """The one under way is done again, as long as the checkpoint is gone on from."""
    assert {} == reached(tmp_path)
    folder = begun(tmp_path / "checkpoint")
    assert {(HOSTS, 0): 10, (HOSTS, 1): 20, (LINKS, 0): 7} == reached(folder)
    for torn in ("v1\n{}\n[3]", "v1\n{", ""):
        (folder / "offsets" / "9").write_text(torn)
        assert {} == reached(folder)


def test_what_lies_between_is_counted_and_logged(broker: Broker, tmp_path: Path) -> None:
    """What comes twice is not skipped; where nothing is as new as the window, all that there was is."""
    before = reached(begun(tmp_path))
    rows, begins = tell_skipped("broker:9092", before, since_ms=5_000)
    assert 5 + 6 == rows
    assert {(HOSTS, 0): 15, (HOSTS, 1): 26, (LINKS, 0): 3} == begins
    words = [f"{HOSTS}/0 from 10 to 14", f"{HOSTS}/1 from 20 to 25"]
    assert words == list(module.gaps(before, begins))
    assert (8 + 6 + 33, {(HOSTS, 0): 18, (HOSTS, 1): 26, (LINKS, 0): 40}) == tell_skipped("", before, since_ms=None)
    broker.clear()
    assert (0, before) == tell_skipped("", before, since_ms=5_000), "nobody answers: it is asked for again"


@pytest.mark.parametrize(("what", "skipped"), [("long outage", 11), ("short outage", 0), ("clock set back", 47)])
def test_what_came_during_a_long_outage_is_not_skipped_without_a_word(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, skipped: int
) -> None:
    """No model needs it; but garbage in it is nowhere else. Nor where the broker's clock was set back: then a query
    begins with what comes."""
    spark = SparkParams(jars=tmp_path, work=tmp_path)
    folder = begun(tmp_path / "checkpoint")
    if what == "long outage":
        for each in (folder / "commits").iterdir():
            os.utime(each, (1_000, 1_000))
    service = Service(ModellingParams(bootstrap="", redis_url=None, checkpoint=folder, spark=spark))
    figures = Figures()
    monkeypatch.setattr(service_module.spark_kafka, "stream", lambda *given, **named: None)
    monkeypatch.setattr(service_module, "sums_of", lambda *given, **named: SimpleNamespace(schema=SUMS))
    monkeypatch.setattr(service_module, "PAUSE_S", 0.0)
    faults = [ClockSetBackError("far behind")] if what == "clock set back" else []

    def query(self: Service, *given: Any) -> None:
        if faults:
            raise faults.pop()
        self.stop()

    monkeypatch.setattr(Service, "_query", query)
    pipeline: Any = SimpleNamespace(figures=figures, refill=lambda since_ms: None)
    service._keep_querying(None, pipeline, lambda: None)  # type: ignore[arg-type]
    assert skipped == figures.skipped


def test_rows_that_were_skipped_are_a_metric(tmp_path: Path) -> None:
    spark = SparkParams(jars=tmp_path, work=tmp_path)
    params = ModellingParams(bootstrap="", redis_url=None, checkpoint=tmp_path, spark=spark)
    pipeline = Pipeline(None, params)  # type: ignore[arg-type]
    pipeline.figures.skipped = 11
    assert "stigmergy_models_skipped_rows_total 11" in exposition(pipeline).splitlines()
    pipeline.close()
