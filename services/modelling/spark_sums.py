"""From bytes on the metrics topics to sums of seats and seconds, all of it in Spark SQL: the same for a stream and for
kept history.

Each row is parsed and gated. What is not a row of ours, or holds numbers that can't be, comes out as `rejected` with
its place on the topic, a hundred offsets in one row at most, so that a flood of garbage stays small. The second of a
row is its host's, unless that is further from the broker's append time than a clock may be off.

Hosts of two releases write side by side during an upgrade (decision 20): fields that we do not know are skipped, and
what a message has a default for may be missing.
"""

from collections.abc import Callable
from functools import reduce
from operator import and_

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

from services.modelling.params import StreamParams
from services.modelling.sums import COLUMNS, GAUGES, SEPARATOR, WIDTH
from topics.catalogue import METRICS_HOSTS, METRICS_LINKS, METRICS_OPERATORS
from topics.messages.base import Message, version_of
from topics.messages.metrics import HostMetrics, LinkMetrics, OperatorMetrics
from topics.messages.models import OFFSETS_MAX

TOPICS = {METRICS_OPERATORS.name: "operator", METRICS_LINKS.name: "link", METRICS_HOSTS.name: "host"}
LARGEST = 1e15
"""No sum of one second is larger, unless something is broken."""
SHORTEST_US = 1e-6
"""Gaps that are shorter in sum are none: the square of a tiny number is 0, and nothing can be divided by it."""
VALUE_BYTES_MAX = 1_024
"""What is kept of a rejected row: enough to see what it is."""

MESSAGES: dict[str, tuple[type[Message], ...]] = {
    "operator": (OperatorMetrics,),
    "link": (LinkMetrics,),
    "host": (HostMetrics,),
}
"""What is read of each kind: today's message, and beside it the one of the major version before, if there is one."""
_SKETCH = StructType([StructField(name, DoubleType()) for name in ("count", "sum", "sum_sq", "min", "max")])


def _schema(words: str, numbers: str, moments: str = "", sketches: str = "") -> StructType:
    fields = [StructField("version", LongType()), StructField("second", LongType())]
    fields += [StructField(name, StringType()) for name in words.split()]
    fields += [StructField(name, DoubleType()) for name in numbers.split()]
    fields += [StructField(name, ArrayType(DoubleType())) for name in moments.split()]
    fields += [StructField(name, _SKETCH) for name in sketches.split()]
    return StructType(fields)


SCHEMAS = {
    "operator": _schema(
        "host flow segment operator",
        "partition arrivals outputs lag bytes_in bytes_out state_bytes late dropped dead_letters",
        "gaps_us batch service_us wait_us",
        "latency_ms",
    ),
    "link": _schema("host peer", "sent lost", sketches="round_trip_ms"),
    "host": _schema("host", "cpu memory_bytes capacity clock_offset_ms", "loop_delay_ms"),
}
NAMES = {
    "operator": ("host", "flow", "segment", "operator"),
    "link": ("host", "peer"),
    "host": ("host",),
}


def sums_of(records: DataFrame, params: StreamParams, *, is_stream: bool) -> DataFrame:
    """Rows of (kind, seat, second, appended_ms, s0 .. , offsets, sample) from Kafka's records of the metrics topics."""
    rows = records.select(
        "topic",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("appended_ms"),
        F.col("value").alias("raw"),
        *(
            F.when(F.col("topic") == topic, F.from_json(F.col("value").cast("string"), SCHEMAS[kind])).alias(kind)
            for topic, kind in TOPICS.items()
        ),
    )
    rows = rows.withColumn("reason", F.coalesce(*(_reason(kind, topic) for topic, kind in TOPICS.items())))
    is_good = F.col("reason").isNull()
    rows = rows.withColumn("said", F.when(is_good, F.coalesce(*(F.col(f"{kind}.second") for kind in SCHEMAS))))
    append_s = F.floor(F.col("appended_ms") / 1_000)
    is_astray = F.abs(F.col("said") - append_s) > params.clock_s_max
    rows = rows.withColumn("astray", (is_good & is_astray).cast("double"))
    rows = rows.withColumn("second", F.when(is_good & ~is_astray, F.col("said")).otherwise(append_s))
    rows = rows.withColumn("at", F.timestamp_seconds("second"))
    if is_stream:
        rows = rows.withWatermark("at", f"{params.watermark_s} seconds")
    rows = rows.withColumn("kind", F.when(~is_good, F.lit("rejected")).otherwise(_by_topic(F.lit)))
    rows = rows.withColumn("seat", F.when(~is_good, _place_of_garbage()).otherwise(_by_topic(_seat)))
    beginning = F.substring("raw", 1, VALUE_BYTES_MAX).alias("raw")
    rows = rows.select(
        "at",
        "kind",
        "seat",
        "appended_ms",
        *(F.when(is_good, _sum_at(place)).otherwise(0.0).alias(f"s{place}") for place in range(WIDTH)),
        F.when(is_good, _gauges()).alias("gauges"),
        F.when(~is_good, F.col("offset")).alias("offset"),
        F.when(~is_good, F.struct("offset", "reason", beginning)).alias("bad"),
    )
    grouped = rows.groupBy(F.window("at", "1 second"), "kind", "seat").agg(
        F.max("appended_ms").alias("appended_ms"),
        *(F.sum(f"s{place}").alias(f"s{place}") for place in range(WIDTH)),
        F.collect_set("gauges").alias("gauges"),
        F.collect_set("offset").alias("offsets"),
        F.min("bad").alias("bad"),
    )
    return grouped.select(
        "kind",
        "seat",
        F.unix_seconds("window.start").alias("second"),
        "appended_ms",
        *(_told_at(place).alias(f"s{place}") for place in range(WIDTH)),
        "offsets",
        F.col("bad.offset").alias("bad_offset"),
        F.col("bad.reason").alias("bad_reason"),
        F.col("bad.raw").alias("bad_value"),
    )


def _by_topic(make: Callable[[str], Column]) -> Column:
    """What `make` gives for the kind of metrics that a row's topic holds."""
    chosen = F.lit(None)
    for topic, kind in TOPICS.items():
        chosen = F.when(F.col("topic") == topic, make(kind)).otherwise(chosen)
    return chosen


def _seat(kind: str) -> Column:
    return F.concat_ws(SEPARATOR, *(F.col(f"{kind}.{name}") for name in NAMES[kind]))


def _place_of_garbage() -> Column:
    """Near each other on one partition they share a row."""
    block = F.floor(F.col("offset") / OFFSETS_MAX)
    return F.concat_ws(SEPARATOR, "topic", F.col("partition").cast("string"), block.cast("string"))


def _reason(kind: str, topic: str) -> Column:
    """Why a row of this topic can't be used; null: it can, or it is of another topic."""
    row, version = F.col(kind), F.col(f"{kind}.version")
    known = sorted(version_of(message) for message in MESSAGES[kind])
    is_ours = F.col("topic") == topic
    has = F.concat(F.lit("it has version "), version)
    checks = [
        (row.isNull() | version.isNull(), F.lit("it is not JSON with a version")),
        (version > known[-1], F.concat(has, F.lit("; upgrade the modelling service"))),
        (~version.isin(known), F.concat(has, F.lit(", which is no longer read; upgrade its host"))),
        (~F.coalesce(_names_are_good(kind), F.lit(False)), F.lit("a name is missing, too long or has a slash in it")),
        (~F.coalesce(_numbers_are_good(kind), F.lit(False)), F.lit("a number is missing, negative, too large or none")),
    ]
    found = F.lit(None).cast("string")
    for is_wrong, reason in reversed(checks):
        found = F.when(is_ours & is_wrong, reason).otherwise(found)
    return found


def _names_are_good(kind: str) -> Column:
    """Names become keys, in which a slash separates. Only a link's peer may have one: `broker/2`."""
    checks = []
    for name in NAMES[kind]:
        column = F.col(f"{kind}.{name}")
        allowed = r"^[^/\x00-\x1f]{1,249}$" if name != "peer" else r"^[^\x00-\x1f]{1,249}$"
        checks.append(column.isNotNull() & column.rlike(allowed))
    return reduce(and_, checks)


def _numbers_are_good(kind: str) -> Column:
    """Neither missing (unless it may be) nor negative nor NaN (which Spark holds to be larger than everything)."""
    checks = [F.col(f"{kind}.second").between(0, int(LARGEST))]
    may_lack = _may_lack(kind)
    for field in SCHEMAS[kind].fields:
        column = F.col(f"{kind}.{field.name}")
        is_good = _is_good(field, column)
        if is_good is not None:
            checks.append(column.isNull() | is_good if field.name in may_lack else is_good)
    return reduce(and_, checks)


def _may_lack(kind: str) -> set[str]:
    """Fields that a good row may come without: some message that is read has a default for them, or has them not."""
    demanded = set(SCHEMAS[kind].names)
    for message in MESSAGES[kind]:
        demanded &= {field.name for field in msgspec.structs.fields(message) if field.required}
    return set(SCHEMAS[kind].names) - demanded


def _is_good(field: StructField, column: Column) -> Column | None:
    """Whether what a field holds can be; None: it holds no numbers, or is looked at elsewhere."""
    if field.name == "clock_offset_ms":
        return F.abs(column) < LARGEST
    if isinstance(field.dataType, DoubleType):
        return (column >= 0) & (column < LARGEST)
    if isinstance(field.dataType, ArrayType):
        three = F.slice(column, 1, 3)  # further moments are a later release's
        return (F.size(three) == 3) & F.forall(three, lambda each: (each >= 0) & (each < 1e30))
    if isinstance(field.dataType, StructType):
        parts = [
            (column[each.name] >= 0) & (column[each.name] < (1e30 if each.name == "sum_sq" else LARGEST))
            for each in _SKETCH.fields
        ]
        return reduce(and_, parts)
    return None


def _sum_at(place: int) -> Column:
    """0 of what a row may lack, and does."""
    return F.coalesce(_by_topic(lambda kind: _expression(kind, place)).cast("double"), F.lit(0.0))


def _expression(kind: str, place: int) -> Column:
    return _of(kind, COLUMNS[kind][place]) if place < len(COLUMNS[kind]) else F.lit(0.0)


def _of(kind: str, name: str) -> Column:
    return {"operator": _operator, "link": _link, "host": _host}[kind](name)


def _gauges() -> Column:
    """The gauges of a row in their order, after its partition; null of a kind without any."""
    made = F.lit(None)
    for topic, kind in TOPICS.items():
        if kind in GAUGES:
            partition = F.col("operator.partition") if kind == "operator" else F.lit(0.0)
            told = [F.coalesce(_of(kind, name).cast("double"), F.lit(0.0)) for name in GAUGES[kind]]
            made = F.when(F.col("topic") == topic, F.array(partition, *told)).otherwise(made)
    return made


def _told_at(place: int) -> Column:
    """A sum of rows, or of partitions if it is a gauge."""
    told = F.col(f"s{place}")
    for kind, gauges in GAUGES.items():
        name = COLUMNS[kind][place] if place < len(COLUMNS[kind]) else ""
        if name in gauges:
            told = F.when(F.col("kind") == kind, _over_partitions(1 + gauges.index(name))).otherwise(told)
    return told


def _over_partitions(at: int) -> Column:
    """Of each partition the largest, added up: in order, each row adds what it has more than the one before."""
    rows = F.array_sort(F.transform(F.col("gauges"), lambda row: F.struct(row[0].alias("at"), row[at].alias("told"))))
    none = F.struct(F.lit(0.0).alias("sum"), F.lit(-1.0).alias("at"), F.lit(0.0).alias("told"))

    def add(had: Column, row: Column) -> Column:
        more = row["told"] - F.when(had["at"] == row["at"], had["told"]).otherwise(0.0)
        return F.struct((had["sum"] + more).alias("sum"), row["at"].alias("at"), row["told"].alias("told"))

    return F.aggregate(rows, none, add, lambda had: had["sum"])


def _operator(name: str) -> Column:
    def of(field: str) -> Column:
        return F.col(f"operator.{field}")

    gaps, gaps_us, gaps_us_sq = (of("gaps_us")[each] for each in range(3))
    is_varied = (gaps > 0) & (gaps_us > SHORTEST_US)
    special = {
        "rows": F.lit(1.0),
        "gaps": F.when(is_varied, gaps),
        # Squares over the squared mean: never below one a gap, whatever rounding did.
        "gaps_sq": F.when(is_varied, F.greatest(gaps, gaps_us_sq * gaps * gaps / (gaps_us * gaps_us))),
        "served": of("service_us")[0],
        "service_us": of("service_us")[1],
        "service_us_sq": of("service_us")[2],
        "waited": of("wait_us")[0],
        "wait_us": of("wait_us")[1],
        "timed": of("latency_ms.count"),
        "latency_ms": of("latency_ms.sum"),
        "astray": F.col("astray"),
    }
    return special[name] if name in special else of(name)


def _link(name: str) -> Column:
    trip = F.col("link.round_trip_ms")
    return {
        "rows": F.lit(1.0),
        "sent": F.col("link.sent"),
        "lost": F.col("link.lost"),
        "answers": trip["count"],
        "round_trip_ms": trip["sum"],
        "round_trip_ms_sq": trip["sum_sq"],
        "fastest_ms": trip["min"],
        "astray": F.col("astray"),
    }[name]


def _host(name: str) -> Column:
    special = {
        "rows": F.lit(1.0),
        "loop_delays": F.col("host.loop_delay_ms")[0],
        "loop_delay_ms": F.col("host.loop_delay_ms")[1],
        "astray": F.col("astray"),
    }
    return special[name] if name in special else F.col(f"host.{name}")
