"""What happens to a micro-batch: sums to the ring, fits, models to their topic and to Redis, garbage set aside."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import structlog
from pyspark.sql import DataFrame, SparkSession

from services.modelling import spark_kafka
from services.modelling.broker_time import BrokerTime, newest_model_ms
from services.modelling.columns import Stamp
from services.modelling.flow_facts import FlowFacts
from services.modelling.mirror import Mirror
from services.modelling.mirror_layout import EXPIRES_AFTER_S
from services.modelling.modeller import Modeller
from services.modelling.params import ModellingParams
from services.modelling.rows import Rows, rows_of
from services.modelling.scoreboard import Scoreboard
from services.modelling.spark_sums import sums_of
from topics.catalogue import METRICS_REJECTED, MODELS
from topics.messages import HotSpotModel, RejectedMetrics, ScoreModel

log = structlog.get_logger(__name__)

ClockMs = Callable[[], int]
AHEAD_MS = 60_000
"""No kept metrics are so far ahead of our clock, unless the broker's was set back."""


def clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Figures:
    """What the service tells of itself."""

    batches: int = 0
    models: int = 0
    rejected: int = 0
    taken_s: float = 0.0
    """By the last batch: waiting for Spark's sums,"""
    fitted_s: float = 0.0
    """fitting,"""
    published_s: float = 0.0
    """and writing."""
    late: int = 0
    """Rows that came after the watermark."""
    failures: int = 0
    """Queries that ended by themselves."""
    skipped: int = 0
    """Rows that no query read: they came before the window of all models, while none ran."""
    progress: dict[str, Any] = field(default_factory=dict)
    """What Spark says of the last batch."""
    _noted: frozenset[str] = frozenset()

    def note(self, recent: Sequence[dict[str, Any]]) -> None:
        """What Spark says of the last batches, each of which it may say again."""
        for each in recent:
            if each["timestamp"] not in self._noted:
                self.late += sum(
                    state.get("numRowsDroppedByWatermark", 0) for state in each.get("stateOperators") or []
                )
                self.progress = each
        self._noted = frozenset(each["timestamp"] for each in recent)


class Pipeline:
    """`refill` after a start, then `take` for each micro-batch; calls come one after the other."""

    def __init__(self, spark: SparkSession, params: ModellingParams, *, now_ms: ClockMs = clock_ms) -> None:
        self.params = params
        self.figures = Figures()
        self.modeller = Modeller(params.fits)
        self.board = Scoreboard(params.fits.forecast.horizons)
        self.mirror = Mirror(params.redis_url) if params.redis_url is not None else None
        self.broker_time = BrokerTime(lambda: newest_model_ms(params.bootstrap))
        self._spark = spark
        self._now_ms = now_ms
        self._told = 0
        """The last second whose models were written."""
        self._gone: set[str] = set()
        """Models that ended, of which the topic has not been told yet."""
        self._told_of: dict[str, int] = {}
        """Of each model the second that was told last."""
        self._old: set[str] = set()
        """Models on the topic that were told long ago."""
        self._garbage: dict[str, int] = {}
        """Offsets already counted of each place that may yet grow."""
        self._flows: Mapping[str, FlowFacts] = {}
        self._has_resumed = False
        self._mirroring = ThreadPoolExecutor(1, thread_name_prefix="mirror")

    def know(self, flows: Mapping[str, FlowFacts]) -> None:
        """Flows have come, changed or gone. May be called from any thread: it counts from the next batch on."""
        self._flows = flows

    def look_at(self, old: set[str]) -> None:
        """These keys were told long ago: those that were not told since get deleted with the next models. May be called
        from any thread."""
        self._old = old

    def refill(self, since_ms: int) -> None:
        """Fills the ring from kept metrics: what was known before this process began."""
        began_s = time.monotonic()
        records = spark_kafka.history(self._spark, self.params.bootstrap, since_ms=since_ms)
        rows = rows_of(sums_of(records, self.params.stream, is_stream=False).toArrow())
        ahead_ms = rows.appended_ms - self._now_ms()
        if ahead_ms > AHEAD_MS:
            log.warning("kept metrics are of a time to come; the ring begins empty", ahead_s=ahead_ms // 1_000)
            return
        self.modeller.refill(rows)
        log.info("ring refilled", seats=self.modeller.rings["operator"].size, took_s=time.monotonic() - began_s)

    def take(self, sums: DataFrame, batch: int) -> None:
        """One micro-batch. When it raises, Spark gives it again; that changes nothing but the time of the models."""
        began_s = time.monotonic()
        rows = rows_of(sums.toArrow())
        summed_s = time.monotonic()
        self.modeller.know(self._flows)
        self.modeller.take(rows)
        self._resume()
        keys: list[str] = []
        values: list[bytes] = []
        if self.modeller.closed < self._told:
            before, self.board = self.board, Scoreboard(self.params.fits.forecast.horizons)
            self.board.resume(before.scores())  # time was set back; nothing comes due
            self._told_of = {}
        if self.modeller.closed != self._told and not self.modeller.is_behind:
            stamp = Stamp(self.modeller.closed, self.params.fits.window_s, self._now_ms(), batch)
            for columns in (*self.modeller.models(), *self.board.columns()):
                keys += columns.keys
                values += columns.encode(stamp)
            self.board.look(self.modeller)
            self._told_of.update(dict.fromkeys(keys, self.modeller.closed))
            ended = self._not_told_since().union(self.modeller.sweep())
            self._gone = self._gone.difference(keys).union(ended)
        fitted_s, sent_ms = time.monotonic(), self.broker_time.local_ms()
        self._publish(keys, values, sorted(self._gone), rows.rejected)
        self._gone.clear()
        if not self.modeller.is_behind:
            self._told = self.modeller.closed
        if keys:
            self.modeller.hot_spots.verdicts.told(self._told, self._late_s(rows, began_s))
            self.broker_time.wrote(sent_ms)
        self.figures.batches += 1
        self.figures.models += len(keys)
        self.figures.rejected += self._count(rows.rejected)
        self.figures.taken_s, self.figures.fitted_s = summed_s - began_s, fitted_s - summed_s
        self.figures.published_s = time.monotonic() - fitted_s

    def _not_told_since(self) -> set[str]:
        """Of the models that were told long ago, once."""
        old, self._old = self._old, set()
        if not old:
            return old
        since = self.modeller.closed - EXPIRES_AFTER_S
        self._told_of = {key: second for key, second in self._told_of.items() if second >= since}
        return old - self._told_of.keys()

    def _resume(self) -> None:
        """What a process before this one left: scores go on from there, and its warnings are told again or taken back.

        From Redis, once it answers: reading a topic of all models would take longer than all else at a start."""
        if self.mirror is None or self._has_resumed:
            return
        scores, spots = self.mirror.read("score"), self.mirror.read("hotspot")
        if scores is None or spots is None:
            return
        self._has_resumed = True
        self.board.resume(model.body for model in scores if isinstance(model.body, ScoreModel))
        self.modeller.hot_spots.verdicts.alarm.resume(*self.board.judged_before)
        bodies = [model.body for model in spots]
        standing = [each.flow for each in bodies if isinstance(each, HotSpotModel) and each.in_s is not None]
        self.modeller.hot_spots.stand_by(standing)
        log.info("went on from what was known before", scores=len(scores), warnings=len(standing))

    def close(self) -> None:
        """Nothing is taken any more."""
        self._mirroring.shutdown()
        self.broker_time.close()
        if self.mirror is not None:
            self.mirror.close()

    def _publish(
        self, keys: list[str], values: list[bytes], gone: list[str], rejected: tuple[RejectedMetrics, ...]
    ) -> None:
        """To the topics and to Redis side by side; raises if the topics could not be written."""
        mirrored = None
        if self.mirror is not None and (keys or gone):
            mirrored = self._mirroring.submit(self.mirror.write, keys, values, gone)
        records: list[spark_kafka.Record] = [(MODELS.name, key, value) for key, value in zip(keys, values, strict=True)]
        records += [(MODELS.name, key, None) for key in gone]
        for each in rejected:
            key = METRICS_REJECTED.key_of(each)
            assert key is not None
            name = METRICS_REJECTED.name
            records.append((name, key.decode(), METRICS_REJECTED.codec.encode(each, topic=name)))
        if records:
            spark_kafka.write(self._spark, self.params.bootstrap, records)
        if mirrored is not None:
            mirrored.result()

    def _late_s(self, rows: Rows, began_s: float) -> float:
        """How long ago the second that was told ended, by the broker's clock.

        At least from its end to the batch's last row, by the broker's clock, and since the batch was handed to us, by
        ours; what Spark took in between only the broker's clock tells."""
        ended_s = self._told + 1
        at_least_s = max(0.0, rows.appended_ms / 1_000 - ended_s) + time.monotonic() - began_s
        now_ms = self.broker_time.now_ms
        return at_least_s if now_ms is None else max(at_least_s, now_ms / 1_000 - ended_s)

    def _count(self, rejected: tuple[RejectedMetrics, ...]) -> int:
        """How many are new: a place comes again when more garbage came near it."""
        new = 0
        for each in rejected:
            place = f"{each.origin.topic}/{each.origin.partition}/{each.origin.offset}"
            new += max(0, len(each.offsets) - self._garbage.pop(place, 0))
            self._garbage[place] = len(each.offsets)
        while len(self._garbage) > 10_000:
            del self._garbage[next(iter(self._garbage))]
        return new
