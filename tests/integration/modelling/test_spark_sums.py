"""The SQL from bytes to sums, on a real Spark without a broker: what hosts of two releases write side by side."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from services.lab.modelling.feed import operator_row
from services.modelling import spark_sums
from services.modelling.checkpoint import shape_of
from services.modelling.params import SparkParams, StreamParams
from services.modelling.rows import Rows, rows_of
from services.modelling.spark_session import open_session
from services.modelling.spark_sums import MESSAGES, TOPICS, sums_of
from services.modelling.sums import COLUMNS, place
from topics.catalogue import METRICS_HOSTS, METRICS_OPERATORS
from topics.messages import HostMetrics, OperatorMetrics

SECOND = 1_763_264_651
GOLDEN = Path(__file__).parents[2] / "golden" / "messages"
Read = Callable[..., Rows]
RECORDS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("value", BinaryType()),
    ]
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """As the service opens it, without the connector."""
    folder = tmp_path_factory.mktemp("spark")
    session = open_session(SparkParams(master="local[1]", jars=folder / "none", work=folder / "work"))
    yield session
    session.stop()


@pytest.fixture
def read(spark: SparkSession) -> Read:
    """What the service makes of values on their topics, each appended within its second."""

    def sums(*values: tuple[str, bytes]) -> Rows:
        at = datetime.fromtimestamp(SECOND, UTC)
        records = [(topic, 0, offset, at, bytearray(value)) for offset, (topic, value) in enumerate(values)]
        return rows_of(sums_of(spark.createDataFrame(records, RECORDS), StreamParams(), is_stream=False).toArrow())

    return sums


def row(**changes: Any) -> tuple[str, bytes]:
    """Five arrivals at an operator; None leaves a field out."""
    told: Mapping[str, Any] = msgspec.to_builtins(operator_row(0, 0, SECOND, 5)) | changes
    return METRICS_OPERATORS.name, json.dumps({name: told[name] for name in told if told[name] is not None}).encode()


def sum_of(rows: Rows, name: str, kind: str = "operator") -> float:
    """Of all seats."""
    return float(rows.kinds[kind].values[place(kind, name)].sum())


def test_every_golden_message_is_read(read: Read) -> None:
    """What was ever written of a version that is read must count: a rolled-back host writes it again."""
    files = {
        (kind, topic): [file for one in MESSAGES[kind] for file in sorted(GOLDEN.glob(f"{one.__name__}.v*.json"))]
        for topic, kind in TOPICS.items()
    }
    rows = read(*((topic, file.read_bytes()) for (_, topic), found in files.items() for file in found))
    assert () == rows.rejected
    for (kind, _), found in files.items():
        assert 0 < len(found) == sum_of(rows, "rows", kind), kind


def test_rows_of_a_later_release_are_read_by_what_we_know_of_them(read: Read) -> None:
    """A field, a moment or a part of a sketch more is a minor change: none of them may blind us to a host."""
    moments, sketch = [5, 100.0, 2_000.0, 7.5], {"count": 2, "sum": 4.0, "sum_sq": 10.0, "min": 1.0, "max": 3.0}
    rows = read(
        row(fetched=3, tags=["a", {"b": None}]),
        row(service_us=moments),
        row(latency_ms={**sketch, "buckets": [], "median": 2.0}),
    )
    assert () == rows.rejected
    assert (3.0, 15.0) == (sum_of(rows, "rows"), sum_of(rows, "arrivals"))
    assert (2.0, 4.0) == (sum_of(rows, "timed"), sum_of(rows, "latency_ms"))


class OperatorMetricsAfter(OperatorMetrics, frozen=True, kw_only=True, tag=2):
    """As a next major version might be: a lag need not be told, and there is a new number with a default."""

    lag: int = 0
    retries: int = 0


class HostMetricsAfter(HostMetrics, frozen=True, kw_only=True, tag=2):
    """Hosts that can't tell their memory."""

    memory_bytes: int = 0


def test_the_version_before_is_read_beside_this_one_and_no_other(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts are upgraded one by one: neither half may fall silent, and what is broken still shows as that."""
    monkeypatch.setitem(MESSAGES, "operator", (OperatorMetrics, OperatorMetricsAfter))
    monkeypatch.setitem(MESSAGES, "host", (HostMetrics, HostMetricsAfter))
    host = json.loads((GOLDEN / "HostMetrics.v1.0.json").read_bytes()) | {"version": 2}
    del host["memory_bytes"]
    good = [row(lag=4), row(version=2, retries=1), row(version=2, lag=None)]
    bad = [row(version=3), row(version=0), row(version=2, arrivals=None), row(version=2, lag=-1)]
    rows = read(*good, *bad, (METRICS_HOSTS.name, json.dumps(host).encode()))
    assert (3.0, 15.0, 4.0) == tuple(sum_of(rows, name) for name in ("rows", "arrivals", "lag"))
    assert (1.0, 0.0, host["cpu"]) == tuple(sum_of(rows, name, "host") for name in ("rows", "memory_bytes", "cpu"))
    assert [(3, 4, 5, 6)] == [each.offsets for each in rows.rejected]
    assert "it has version 3; upgrade the modelling service" == rows.rejected[0].reason


def test_a_number_may_not_be_missing_that_every_message_demands(read: Read) -> None:
    """Today's messages have a default for one alone, the latency."""
    assert [(0, 1, 2)] == [each.offsets for each in read(row(lag=None), row(gaps_us=None), row(version=2)).rejected]


def test_no_number_ends_the_query(read: Read) -> None:
    """It would begin at the same offsets again, for ever: one row of one host would end all models."""
    tiny = [row(gaps_us=[5, 1e-200, 1]), row(gaps_us=[5, 1e-150, 1e29]), row(gaps_us=[1e-300, 1e-300, 1e-300])]
    wild = [row(second=second) for second in (-(2**63), 2**63 - 1, 10**15 + 1, -1)]
    rows = read(*tiny, *wild, row(gaps_us=[5, 10.0, 40.0]))
    assert [(3, 4, 5, 6)] == [each.offsets for each in rows.rejected]
    assert (4.0, 5.0, 10.0) == tuple(sum_of(rows, name) for name in ("rows", "gaps", "gaps_sq"))


def test_of_a_gauge_the_largest_of_a_partition_counts_and_partitions_add_up(read: Read) -> None:
    """A row that comes twice, or two that fall into one second, are no second lag."""
    rows = read(
        row(partition=0, lag=4, state_bytes=100),
        row(partition=0, lag=6, state_bytes=90),
        row(partition=0, lag=6, state_bytes=90),
        row(partition=1, lag=3, state_bytes=10),
    )
    told = tuple(sum_of(rows, name) for name in ("rows", "arrivals", "lag", "state_bytes"))
    assert (4.0, 20.0, 9.0, 110.0) == told
    host = json.loads((GOLDEN / "HostMetrics.v1.0.json").read_bytes()) | {"second": SECOND}
    loads = [host | {"cpu": cpu, "capacity": 2.0, "clock_offset_ms": -3.0} for cpu in (0.5, 0.7)]
    rows = read(*((METRICS_HOSTS.name, json.dumps(each).encode()) for each in loads))
    told = tuple(sum_of(rows, name, "host") for name in ("rows", "cpu", "capacity", "clock_offset_ms"))
    assert (2.0, 0.7, 2.0, -3.0) == told


def test_spark_refuses_a_checkpoint_with_fewer_sums_and_their_shapes_tell(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why a checkpoint of another shape is put aside: with it the query would end before its first batch, for ever."""
    source, folder = tmp_path / "rows", tmp_path / "checkpoint"

    def run(offset: int) -> StructType:
        record = (METRICS_OPERATORS.name, 0, offset, datetime.fromtimestamp(SECOND, UTC), bytearray(row()[1]))
        spark.createDataFrame([record], RECORDS).write.mode("append").parquet(str(source))
        sums = sums_of(spark.readStream.schema(RECORDS).parquet(str(source)), StreamParams(), is_stream=True)
        query = sums.writeStream.outputMode("update").option("checkpointLocation", str(folder))
        query.trigger(availableNow=True).foreachBatch(_nothing).start().awaitTermination()
        return sums.schema

    monkeypatch.setattr(spark_sums, "WIDTH", len(COLUMNS["operator"]) - 1)
    before = run(0)
    assert before == run(1)
    monkeypatch.undo()
    with pytest.raises(Exception, match=r"(?i)schema"):
        run(2)
    today = sums_of(spark.createDataFrame([], RECORDS), StreamParams(), is_stream=False).schema
    assert shape_of(before) != shape_of(today)


def _nothing(sums: DataFrame, batch: int) -> None:
    sums.collect()
