"""Kafka from Spark: metrics as a stream or as history, and models and rejected metrics to their topics."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from services.modelling.params import StreamParams
from services.modelling.spark_sums import TOPICS

Record = tuple[str, str, bytes | None]
"""Topic, key and value; without a value the key is deleted."""

_COMMON = {
    "failOnDataLoss": "false",  # what retention has deleted is gone; models go on with what is there
    "startingOffsetsByTimestampStrategy": "latest",
    "kafka.metadata.max.age.ms": "5000",
    "kafka.request.timeout.ms": "15000",
    "kafka.default.api.timeout.ms": "20000",
}


def stream(spark: SparkSession, bootstrap: str, params: StreamParams, *, since_ms: int | None) -> DataFrame:
    """All metrics from now on; a query without a checkpoint begins with those since then, or (None) to come."""
    options = _COMMON | {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": ",".join(TOPICS),
        "maxOffsetsPerTrigger": str(params.rows_max),
    }
    options |= {"startingOffsets": "latest"} if since_ms is None else {"startingTimestamp": str(since_ms)}
    return spark.readStream.format("kafka").options(**options).load()


def history(spark: SparkSession, bootstrap: str, *, since_ms: int, until_ms: int | None = None) -> DataFrame:
    """The metrics appended in this time, as far as they are kept."""
    options = _COMMON | {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": ",".join(TOPICS),
        "startingTimestamp": str(since_ms),
    }
    if until_ms is not None:
        options["endingTimestamp"] = str(until_ms)
    return spark.read.format("kafka").options(**options).load()


def write(spark: SparkSession, bootstrap: str, records: Sequence[Record]) -> None:
    """Appends records; returns when the brokers have them. At least once: a task that fails is done again."""
    topics, keys, values = zip(*records, strict=True)
    table = pa.table(
        {
            "topic": pa.array(topics, pa.string()),
            "key": pa.array(keys, pa.string()),
            "value": pa.array(values, pa.binary()),
        }
    )
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.compression.type": "gzip",
        "kafka.acks": "all",
        "kafka.linger.ms": "5",
        "kafka.delivery.timeout.ms": "30000",
        "kafka.request.timeout.ms": "10000",
    }
    spark.createDataFrame(table).coalesce(1).write.format("kafka").options(**options).save()
