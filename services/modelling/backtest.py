"""Kept metrics through the same code as a batch: how wrong would the models have been?

Spark sums the history as it sums the stream, some minutes at a time; the modeller then takes it second by second of the
broker's time, as it came, and makes its models. What it says of the future is noted, and scored when the future has
come. Bounds and operators of flows are those of the time, as far as the registry still has them.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from services.embedded.errors import StackError
from services.modelling import spark_kafka
from services.modelling.flow_history import Assumed, FlowHistory, read_flow_history
from services.modelling.kept_metrics import next_appended_ms
from services.modelling.modeller import Modeller
from services.modelling.params import HEAP_MB, FitParams, SparkParams, StreamParams
from services.modelling.ring import Indices
from services.modelling.rows import Rows, Sums, rows_of
from services.modelling.scoreboard import Scoreboard
from services.modelling.spark_session import connector, open_session
from services.modelling.spark_sums import sums_of
from services.settings import load_settings
from topics.messages import ScoreModel

SLICE_S = 120
"""Of history that is in memory at a time: 2,000 operators are a hundred megabytes."""
MARGIN_S = 2 * StreamParams().clock_s_max + 1
"""The rows of one seat and second are never appended further apart."""

Collect = Callable[[int, int], Rows]
"""The sums of what was appended from the first time on and before the second, in ms."""


@dataclass(frozen=True, slots=True)
class Backtest:
    """`scores` of that time, none if no metrics of it are kept; `assumed`: of flows, what is no longer known."""

    scores: list[ScoreModel]
    assumed: list[Assumed]


def run_backtest(
    bootstrap: str,
    fits: FitParams,
    *,
    since_ms: int,
    until_ms: int,
    master: str = "local[*]",
    memory_mb: int = HEAP_MB,
) -> Backtest:
    """All metrics that were appended in that time, as far as they are kept."""
    flows = read_flow_history(bootstrap)  # first: it says in words, and soon, if there is no broker
    begins_ms = next_appended_ms(bootstrap, since_ms)
    if begins_ms is None or begins_ms >= until_ms:
        return Backtest([], [])
    with tempfile.TemporaryDirectory(prefix="stig-models-") as folder:
        jars = connector(load_settings().settings.cache)
        try:
            spark = open_session(SparkParams(master=master, memory_mb=memory_mb, jars=jars, work=Path(folder)))
            try:

                def collect(begin_ms: int, end_ms: int) -> Rows:
                    records = spark_kafka.history(spark, bootstrap, since_ms=begin_ms, until_ms=end_ms)
                    return rows_of(sums_of(records, StreamParams(), is_stream=False).toArrow())

                parts = slices(since_ms, until_ms, collect, lambda after_ms: next_appended_ms(bootstrap, after_ms))
                scores = replay(parts, Modeller(fits), flows)
            finally:
                spark.stop()
        except (PySparkException, Py4JError) as fault:
            raise in_words(fault, memory_mb) from fault
    return Backtest(scores, flows.assumed(since_ms, until_ms))


def in_words(fault: Exception, memory_mb: int) -> StackError:
    """What Spark could not do, and what to do about it."""
    text = str(fault)
    if "OutOfMemoryError" in text or "maxResultSize" in text:
        remedy = f"give it more, such as --memory-mb {2 * memory_mb}"
        return StackError(f"Spark ran out of memory; its heap is {memory_mb} MB", remedy)
    cause = next((line.strip() for line in text.splitlines() if "Caused by" in line), text.strip().partition("\n")[0])
    return StackError(f"Spark could not read the metrics: {cause[:300]}", "is Kafka up? Try stigmergy doctor")


def slices(since_ms: int, until_ms: int, collect: Collect, next_ms: Callable[[int], int | None]) -> Iterator[Rows]:
    """What was appended in that time, slice by slice: each cell once, whole, where the last of its rows is.

    `next_ms`: when metrics were next appended after a time; None: never.
    """
    begin_ms = since_ms
    while begin_ms < until_ms:
        end_ms = min(until_ms, begin_ms - begin_ms % 1_000 + SLICE_S * 1_000)
        around = (max(since_ms, begin_ms - MARGIN_S * 1_000), min(until_ms, end_ms + MARGIN_S * 1_000))
        rows = _appended(collect(*around), begin_ms, end_ms)
        begin_ms = end_ms
        if any(len(sums.seats) for sums in rows.kinds.values()):
            yield rows
            continue
        later_ms = next_ms(end_ms)
        if later_ms is None:
            return
        begin_ms = max(end_ms, later_ms - later_ms % 1_000)


def replay(parts: Iterable[Rows], modeller: Modeller, flows: FlowHistory) -> list[ScoreModel]:
    """Second by second; the same history gives the same scores, however it is cut."""
    board = Scoreboard(modeller.params.forecast.horizons, keep=1.0)
    for rows in parts:
        for second in seconds_of(rows):
            modeller.know(flows.facts_at(second.appended_ms))
            if modeller.take(second):
                modeller.models()  # hot spots are foreseen, and judged, when they are told
                board.look(modeller)
                modeller.sweep()
    return board.scores()


def seconds_of(rows: Rows) -> Iterator[Rows]:
    """The same rows as they were appended, a second of the broker's time at a time (decision 0280)."""
    came = {kind: sums.appended_ms // 1_000 for kind, sums in rows.kinds.items()}
    order = {kind: seconds.argsort(kind="stable") for kind, seconds in came.items()}
    for second in np.unique(np.concatenate(list(came.values()))).tolist():
        kinds = {}
        for kind, sums in rows.kinds.items():
            start, end = np.searchsorted(came[kind], (second, second + 1), sorter=order[kind])
            kinds[kind] = _chosen(sums, order[kind][start:end])
        yield Rows(kinds, (), (second + 1) * 1_000 - 1)


def _appended(rows: Rows, begin_ms: int, end_ms: int) -> Rows:
    """The cells whose last row was appended then."""
    kinds = {}
    for kind, sums in rows.kinds.items():
        is_then = (sums.appended_ms >= begin_ms) & (sums.appended_ms < end_ms)
        kinds[kind] = _chosen(sums, np.flatnonzero(is_then))
    return replace(rows, kinds=kinds)


def _chosen(sums: Sums, which: Indices) -> Sums:
    seats = [sums.seats[place] for place in which.tolist()]
    return Sums(seats, sums.seconds[which], sums.values[:, which], sums.appended_ms[which])
