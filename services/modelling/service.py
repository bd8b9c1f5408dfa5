"""The modelling service as a process: Spark's query in a thread, flows and the health page beside it.

A query that fails (a broker away for long, a sink that can't be written) is started again from its checkpoint. A
checkpoint that is older than the window, or of another shape of sums, is put aside at once, one that Spark can't read
after some failures; the query then begins with the metrics of the last window. Where the broker's clock was set back it
begins with those to come: Spark would drop all of them as late.
"""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

import structlog
from aiokafka.errors import KafkaError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from services.modelling import checkpoint, spark_kafka
from services.modelling.exposition import exposition
from services.modelling.flow_facts import facts_of
from services.modelling.mirror_layout import EXPIRES_AFTER_S
from services.modelling.old_models import old_keys
from services.modelling.params import SLACK_S, ModellingParams
from services.modelling.pipeline import Pipeline, clock_ms
from services.modelling.skipped import tell_skipped
from services.modelling.spark_session import open_session
from services.modelling.spark_sums import sums_of
from services.process.health import METRICS_TYPE, HealthServer, Page, UnwellError, plain
from services.registry.errors import RegistryError
from services.registry.follow import RegistryFollower
from services.registry.view import RegistryView
from topics.catalogue import FLOWS

log = structlog.get_logger(__name__)

PAUSE_S, PAUSE_S_MAX = 1.0, 15.0
LOOK_S = 1.0
STOP_TIMEOUT_S = 20.0
FAILURES_MAX = 3
"""Queries in a row that end before their first batch: then the checkpoint is what is wrong."""
BACKLOG_MS_MAX = 120_000
"""What came in so short a time is worked off in a moment, however short the window is."""
SILENT_S_MAX = 60.0
"""Without a batch, although there is something to read: then it is not well."""
FIRST_S_MAX = 300.0
"""The same until the first batch is done, with the start of Spark."""
FLOWS_FOLLOWED, PAGES, OLD_FOUND = "following the flows", "serving pages", "finding old models"
"""What goes on beside the query."""
OLD_EVERY_S = 600.0
RESTS = ("Waiting for data to arrive", "Waiting for next trigger")
"""Spark's words between two batches; the first only for a moment."""


class ClockSetBackError(Exception):
    """The broker's time is far behind what the query has seen of it."""


class Service:
    """`run` until `stop`."""

    def __init__(self, params: ModellingParams, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self.params = params
        self._now_s = now_s
        self._well_s = now_s()
        """When a batch was done last, or there was nothing to do."""
        self._batches = 0
        """Done when it was looked at last."""
        self._fault = "none"
        self._unwell: dict[str, str] = {}
        """What does not run beside the query, and why."""
        self.pipeline: Pipeline | None = None
        self._asked = threading.Event()
        self._is_up = asyncio.Event()

    def stop(self) -> None:
        """From any thread, or a signal."""
        self._asked.set()

    async def run(self) -> None:
        """Everything; raises what Spark could not start with."""
        loop = asyncio.get_running_loop()
        works = (
            (FLOWS_FOLLOWED, self._follow_flows),
            (PAGES, self._serve_pages),
            (OLD_FOUND, self._find_old_models),
        )
        beside = [asyncio.create_task(self._keep_up(what, work)) for what, work in works]
        try:
            await asyncio.to_thread(self._work, lambda: loop.call_soon_threadsafe(self._is_up.set))
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _keep_up(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Lets something go on beside the query for ever: what ends by a fault is told, and begins again."""
        pause_s = PAUSE_S
        while True:
            began_s = self._now_s()
            try:
                return await work()
            except Exception as fault:
                log.exception("what runs beside the query ended; it begins again", what=what)
                self._unwell[what] = f"{fault!r}"[:200]
            pause_s = PAUSE_S if self._now_s() - began_s > PAUSE_S_MAX else min(2 * pause_s, PAUSE_S_MAX)
            await asyncio.sleep(pause_s)

    async def _serve_pages(self) -> None:
        """From the moment that the query runs: who asks earlier gets no answer."""
        await self._is_up.wait()
        if self.params.port is not None:
            pages = {"/health": self._health, "/metrics": self._metrics}
            async with HealthServer(self.params.port, pages):
                self._unwell.pop(PAGES, None)
                await asyncio.Event().wait()

    def _health(self) -> Page:
        assert self.pipeline is not None
        silent_s = self._now_s() - self._well_s
        if silent_s > (SILENT_S_MAX if self.pipeline.figures.batches else FIRST_S_MAX):
            raise UnwellError(
                f"no batch was done for {silent_s:.0f} s; last fault: {self._fault}; see the service's log"
            )
        if self._unwell:
            faults = "; ".join(f"{what} ended by {fault}" for what, fault in sorted(self._unwell.items()))
            raise UnwellError(f"{faults}; it begins again; see the service's log")
        return plain("ok\n")

    def _metrics(self) -> Page:
        assert self.pipeline is not None
        return METRICS_TYPE, exposition(self.pipeline).encode()

    async def _follow_flows(self) -> None:
        """Keeps the pipeline informed of bounds and of who is upstream of whom."""
        view = RegistryView()
        follower = RegistryFollower(
            self.params.bootstrap, view, [FLOWS], client_id="stig.models.flows", on_message=lambda message: None
        )

        def tell() -> None:
            if self.pipeline is not None:
                self.pipeline.know(facts_of(list(view.flows.values())))
            self._unwell.pop(FLOWS_FOLLOWED, None)

        try:
            while True:
                try:
                    await follower.start()
                    await follower.catch_up()
                    break
                except KafkaError as error:
                    log.warning("flows can't be read yet", error=repr(error))
                    await asyncio.sleep(PAUSE_S)
            await self._is_up.wait()
            tell()
            await follower.run(tell)
        finally:
            await follower.stop()

    async def _find_old_models(self) -> None:
        """From time to time, so that what has gone does not stay on a compacted topic for ever."""
        while True:
            await asyncio.sleep(OLD_EVERY_S)
            before_ms = clock_ms() - EXPIRES_AFTER_S * 1_000
            try:
                old = await asyncio.to_thread(old_keys, self.params.bootstrap, before_ms=before_ms)
            except RegistryError as fault:
                log.warning("old models can't be found; trying again later", error=str(fault))
                continue
            if self.pipeline is not None:
                self.pipeline.look_at(old)

    def _work(self, on_up: Callable[[], object]) -> None:
        spark = open_session(self.params.spark)
        log.info("spark is up", master=self.params.spark.master)
        self.pipeline = Pipeline(spark, self.params)
        try:
            self._keep_querying(spark, self.pipeline, on_up)
        except Py4JError:
            if not self._asked.is_set():  # else who asked us has asked the JVM too, and it was faster
                raise
        finally:
            self.pipeline.close()
        with contextlib.suppress(Py4JError, OSError):
            spark.stop()

    def _keep_querying(self, spark: SparkSession, pipeline: Pipeline, on_up: Callable[[], object]) -> None:
        failures = 0
        refilled = was_set_back = False
        reached: checkpoint.Places = {}  # by queries whose checkpoint was put aside, or that have committed nothing yet
        while not self._asked.is_set():
            batches = pipeline.figures.batches
            window_ms = clock_ms() - self.params.fits.window_s * 1_000
            since_ms = window_ms - SLACK_S * 1_000
            begins_ms, was_set_back = None if was_set_back else since_ms, False
            try:
                records = spark_kafka.stream(spark, self.params.bootstrap, self.params.stream, since_ms=begins_ms)
                sums = sums_of(records, self.params.stream, is_stream=True)
                left_ms = min(window_ms, clock_ms() - BACKLOG_MS_MAX)
                reached |= checkpoint.leave_behind(self.params.checkpoint, before_ms=left_ms)
                reached |= checkpoint.agree(self.params.checkpoint, checkpoint.shape_of(sums.schema))
                has_begun = checkpoint.has_begun(self.params.checkpoint)
                if reached and not has_begun:
                    rows, reached = tell_skipped(self.params.bootstrap, reached, since_ms=begins_ms)
                    pipeline.figures.skipped += rows
                elif has_begun:
                    reached = {}
                if not refilled and has_begun:
                    pipeline.refill(since_ms)
                refilled = True
                self._query(sums, pipeline, on_up)
            except ClockSetBackError as fault:
                log.warning("the broker's clock was set back; the query begins with what comes", error=str(fault))
                reached |= checkpoint.put_aside(self.params.checkpoint, "outdated")
                was_set_back = True
            except (PySparkException, Py4JJavaError) as fault:
                if self._asked.is_set():
                    return
                self._fault = str(fault).partition("\n")[0][:200]
                pipeline.figures.failures += 1
                failures = failures + 1 if pipeline.figures.batches == batches else 1
                log.warning("the query ended; it begins again", failures=failures, error=str(fault)[:2_000])
                if failures >= FAILURES_MAX:
                    reached |= checkpoint.put_aside(self.params.checkpoint, "unreadable")
                    failures = 0
            self._asked.wait(min(PAUSE_S * 2**failures, PAUSE_S_MAX))

    def _look(self, query: StreamingQuery, pipeline: Pipeline) -> None:
        """Keeps the figures; raises if the query would not see anything for a long time."""
        batches, recent = pipeline.figures.batches, query.recentProgress
        status = query.status
        has_nothing_to_read = not status["isDataAvailable"] and status["message"] in RESTS
        if batches != self._batches or has_nothing_to_read:
            self._batches, self._well_s = batches, self._now_s()
        pipeline.figures.note(recent)
        behind_s = set_back_s(recent[-1]) if recent else 0.0
        if behind_s > self.params.fits.window_s:
            raise ClockSetBackError(f"it is {behind_s:.0f} s behind")

    def _query(self, sums: DataFrame, pipeline: Pipeline, on_up: Callable[[], object]) -> None:
        """Runs the query until it fails or is asked to stop."""
        params = self.params
        query = (
            sums.writeStream.outputMode("update")
            .trigger(processingTime=f"{params.stream.trigger_ms} milliseconds")
            .option("checkpointLocation", str(params.checkpoint))
            .foreachBatch(pipeline.take)
            .start()
        )
        log.info("query is running", checkpoint=str(params.checkpoint))
        on_up()
        try:
            while query.isActive and not self._asked.wait(LOOK_S):
                self._look(query, pipeline)
            fault = query.exception()
            if fault is not None:
                raise fault
        finally:
            _end(query)


def set_back_s(progress: Mapping[str, Any]) -> float:
    """How far the newest row of a batch is behind the watermark, before which all are dropped; 0: not at all."""
    times = progress.get("eventTime") or {}
    if "max" not in times or "watermark" not in times:
        return 0.0
    newest, watermark = (datetime.fromisoformat(times[name]) for name in ("max", "watermark"))
    return max(0.0, (watermark - newest).total_seconds())


def _end(query: StreamingQuery) -> None:
    """Stops a query; a batch that is under way is done again after the next start."""
    ending = threading.Thread(target=query.stop, daemon=True)
    ending.start()
    ending.join(STOP_TIMEOUT_S)


def exit_late(after_s: float) -> None:
    """Ends the process if Spark does not let it end: nothing is lost, what was not committed is done again."""
    timer = threading.Timer(after_s, os._exit, args=(1,))
    timer.daemon = True
    timer.start()
