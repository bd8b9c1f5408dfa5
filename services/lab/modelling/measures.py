"""From a metric on its topic to a model in Redis: how long that takes, at which load, on how much processor and memory.

The service runs as it does under `stigmergy up`, as a process of its own, with flows that have bounds, so that all
its models are made. It is watched from outside: the broker says when rows were appended, Redis when a model first knew
their second, and the system how much memory there is. At the end it is killed some times. What goes wrong on the way
is told, and costs nothing of what was seen before.
"""

import contextlib
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import structlog
from confluent_kafka import KafkaException
from redis import Redis
from redis.exceptions import RedisError

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.record import ProcessRecord
from services.lab.dataplane.ground import BenchError, Say, wait_until
from services.lab.modelling.feed import Feed, Feeder
from services.lab.modelling.restart import Outage, kill, restart_rows
from services.lab.results import Row
from services.modelling.furnish import NAME, modelling_process
from services.modelling.mirror_layout import hash_of, models_in
from services.modelling.params import heap_mb_for
from services.settings import Settings

log = structlog.get_logger(__name__)

POLL_S = 0.02
REDIS_TIMEOUT_S = 5.0
LOOK_S = 2.0
START_TIMEOUT_S = 240.0
END_TIMEOUT_S = 60.0
BETWEEN_S = 10
"""The service runs so long before it is killed again."""
MEGA = 1e6


@dataclass(frozen=True, slots=True)
class Params:
    """`rows` a second of so many `operators` (None: each row its own) for `seconds`; the first `warm_s` don't count.

    `master`: a Spark cluster (None: one process with so many `cores`); `restarts`: how often the service is killed
    afterwards; `memory_mb`: heap of Spark (None: by the number of operators).
    """

    rows: int = 2_000
    operators: int | None = None
    seconds: int = 180
    warm_s: int = 60
    cores: int = 2
    master: str | None = None
    restarts: int = 3
    seed: int = 1
    memory_mb: int | None = None

    def __post_init__(self) -> None:
        assert self.rows > 0, self
        assert self.operators is None or self.rows % self.operators == 0, (
            f"{self}: rows must be a multiple of operators"
        )
        assert 0 < self.warm_s < self.seconds, self
        assert self.cores > 0, self
        assert self.restarts >= 0, self

    @property
    def spark(self) -> str:
        """The master, as Spark spells it."""
        return self.master or f"local[{self.cores}]"

    @property
    def name(self) -> str:
        """Which load on which Spark."""
        return f"{self.rows:,} rows/s of {self.feed.operators:,} operators, {self.spark}"

    @property
    def heap_mb(self) -> int:
        """Of Spark."""
        return self.memory_mb or heap_mb_for(self.feed.operators)

    @property
    def feed(self) -> Feed:
        """What is written."""
        operators = self.operators or self.rows
        return Feed(operators, self.rows // operators, self.seed)


@dataclass(slots=True)
class Seen:
    """What was seen from outside: when each watched model first knew a second, and figures of the service."""

    known_s: dict[tuple[str, int], float] = field(default_factory=dict)
    figures: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    behind_s: int = 0
    """How many seconds no model knew when the feed ended."""
    newest: dict[str, int] = field(default_factory=dict)
    restarts: int = 0
    """How often the service was started again during the feed: it should not be."""
    lost_reads: int = 0
    """Of Redis."""
    fault: str = ""
    """Of the last one."""

    def complaints(self, fed_s: int) -> Iterator[str]:
        """What the rows can't tell, or a reader may overlook."""
        if not self.known_s:
            yield f"no model came within {fed_s} s: the load is too much"
        if self.restarts:
            yield f"the service was started again {self.restarts} times during the feed"
        if self.lost_reads:
            yield f"{self.lost_reads} reads of Redis failed, the last with: {self.fault}"

    def learn(self, values: Mapping[str, bytes | None], now_s: float) -> None:
        """What Redis has now of the watched keys."""
        for model in models_in({key.encode(): value for key, value in values.items() if value is not None}):
            since = self.newest.get(model.key, model.second - 1) + 1
            for second in range(since, model.second + 1):
                self.known_s[model.key, second] = now_s
            self.newest[model.key] = max(since - 1, model.second)


def measure(params: Params, settings: Settings, *, say: Say, warn: Say = log.warning) -> list[Row]:
    """Starts a broker, Redis and the service, feeds them, and says what was seen."""
    say("starting a broker")
    with (
        tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True) as folder,
        EmbeddedStack(
            StackParams(home=Path(folder) / "stack", kafka_home=settings.kafka_home, cache=settings.cache)
        ) as stack,
    ):
        make_topics(stack.bootstrap)
        feeder = Feeder(stack.bootstrap)
        feeder.write_flows(params.feed.flows(time.time_ns() // 1_000_000))
        port = choose_ports([None])[0]
        say("starting Spark")
        began_s = time.monotonic()
        stack.run(modelling_process(stack, params.spark, port, memory_mb=params.heap_mb))
        wait_until(lambda: bool(figures_at(port)), timeout_s=START_TIMEOUT_S, what="the modelling service")
        up_s = time.monotonic() - began_s
        first = int(time.time()) + 2
        watched = _watched(params)
        with _watching(stack.redis_url, port, watched) as seen:
            fed_s = _feed(params, feeder, seen, first, say=say, warn=warn)
        seen.restarts = _record(stack).restarts
        found = rows(replace(params, seconds=fed_s), seen, feeder, first, up_s) if fed_s > params.warm_s else []
        for words in seen.complaints(fed_s):
            warn(words)
        outages = _kill_some_times(params, stack, feeder, watched[0], say=say, warn=warn)
    return found + (restart_rows(outages, params.restarts, params.name) if params.restarts else [])


def _feed(params: Params, feeder: Feeder, seen: Seen, first: int, *, say: Say, warn: Say) -> int:
    """How many seconds were fed: fewer than wanted if the broker takes no more."""
    fed_s = 0
    try:
        for second in range(first, first + params.seconds):
            say(f"{fed_s} of {params.seconds} s")
            feeder.write_second(params.feed.rows(second), second, params.feed.more_rows(second))
            fed_s += 1
        seen.behind_s = first + fed_s - 1 - max((second for _, second in list(seen.known_s)), default=0)
        feeder.flush()
        last = first + fed_s - 2
        with contextlib.suppress(BenchError):  # then they count as not modelled in time
            wait_until(
                lambda: any(second >= last for _, second in list(seen.known_s)),
                timeout_s=END_TIMEOUT_S,
                what="the models of the last second",
            )
    except (BenchError, KafkaException) as fault:
        warn(f"the feed ended after {fed_s} of {params.seconds} s: {fault}")
    return fed_s


def _kill_some_times(
    params: Params, stack: EmbeddedStack, feeder: Feeder, key: str, *, say: Say, warn: Say
) -> list[Outage]:
    """What each kill cost, as far as models came again."""
    outages: list[Outage] = []
    for number in range(params.restarts):
        try:
            outages.append(_restart(params, stack, feeder, key, say))
        except (BenchError, KafkaException, RedisError) as fault:
            warn(f"kill {number + 1} of {params.restarts}: {fault}")
    return outages


def _restart(params: Params, stack: EmbeddedStack, feeder: Feeder, key: str, say: Say) -> Outage:
    """One kill of the service, while the feed goes on."""
    second = int(time.time()) + 1
    kills_at = second + BETWEEN_S
    outage: Future[Outage] | None = None
    with Redis.from_url(stack.redis_url) as redis, ThreadPoolExecutor(1) as beside:
        while outage is None or not outage.done():
            say(f"killed {second - kills_at} s ago" if outage else f"kill -9 in {kills_at - second} s")
            feeder.write_second(params.feed.rows(second), second, params.feed.more_rows(second))
            second += 1
            if outage is None and second >= kills_at:
                outage = beside.submit(kill, stack, redis, key)
        return outage.result()


def _record(stack: EmbeddedStack) -> ProcessRecord:
    return next(each for each in stack.records() if each.name == NAME)


def rows(params: Params, seen: Seen, feeder: Feeder, first: int, up_s: float) -> list[Row]:
    """The figures after warming up."""
    since, until = first + params.warm_s, first + params.seconds - 2
    watched = {place: ms for place, ms in feeder.appended_ms.items() if since <= place[1] <= until}
    latencies_s = [seen.known_s[place] - ms / 1_000 for place, ms in watched.items() if place in seen.known_s]
    counted = [(at_s, told) for at_s, told in seen.figures if since <= at_s <= until + 1]
    name = params.name
    missing = 1.0 - len(latencies_s) / max(len(watched), 1)
    made = [
        Row.quantile(f"metric to model, {words}: {name}", latencies_s, share, "s")
        for words, share in (("p50", 0.5), ("p95", 0.95))
        if latencies_s
    ]
    made += [
        Row.of(f"rows written: {name}", [feeder.written / params.seconds], "1/s"),
        Row.of(f"share of rows not modelled in time: {name}", [missing], "share"),
        Row.of(f"models behind at the end of the feed: {name}", [float(seen.behind_s)], "s"),
        Row.of(f"start until the query runs: {name}", [up_s], "s"),
        Row.of(f"starts of the service again during the feed: {name}", [float(seen.restarts)], "times"),
    ]
    if not counted:  # too busy to tell
        return made
    made += [
        Row.of(f"memory, JVM and driver: {name}", [told["memory_bytes"] / MEGA for _, told in counted], "MB"),
        Row.of(f"memory growth: {name}", [_slope_per_minute(counted)], "MB/min"),
        Row.of(f"failures of the query: {name}", [max(told["query_failures_total"] for _, told in counted)], "times"),
    ]
    parts = {"batch_seconds": "micro-batch", "sums": "of it sums", "fits": "of it fits", "writing": "of it writing"}
    return made + [
        Row.of(f"{words}: {name}", [told[part] for _, told in counted], "s") for part, words in parts.items()
    ]


def figures_at(port: int) -> dict[str, float]:
    """What the service tells of itself; empty if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=2) as page:
            text = page.read().decode()
    except (OSError, urllib.error.URLError):
        return {}
    found = re.findall(r'^stigmergy_models_(\w+)(?:\{\w+="(\w+)"\})? (\S+)$', text, re.MULTILINE)
    return {(label or name): float(value) for name, label, value in found}


def _watched(params: Params) -> list[str]:
    """The keys of the models whose rows the feeder watches."""
    watched = params.feed.rows(0)
    size = -(-len(watched) // 10)
    return sorted({f"rate/{row.flow}/{row.operator}" for row in watched[::size]})


@contextmanager
def _watching(redis_url: str, port: int, keys: Sequence[str]) -> Iterator[Seen]:
    seen, over = Seen(), threading.Event()

    def watch_models() -> None:
        with Redis.from_url(redis_url, socket_timeout=REDIS_TIMEOUT_S) as redis:
            while not over.wait(POLL_S):
                pipeline = redis.pipeline(transaction=False)
                for key in keys:
                    pipeline.hget(hash_of(key), key)
                try:
                    seen.learn(dict(zip(keys, pipeline.execute(), strict=True)), time.time())
                except RedisError as fault:
                    seen.lost_reads, seen.fault = seen.lost_reads + 1, str(fault)

    def watch_figures() -> None:
        while not over.wait(LOOK_S):
            told = figures_at(port)
            if "batch_seconds" in told:
                seen.figures.append((time.time(), told))

    threads = [threading.Thread(target=each, daemon=True) for each in (watch_models, watch_figures)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _slope_per_minute(counted: Sequence[tuple[float, dict[str, float]]]) -> float:
    """Of memory over time, by least squares."""
    if len(counted) < 2:
        return 0.0
    times = np.array([at_s for at_s, _ in counted])
    slope = np.polyfit(times - times[0], [told["memory_bytes"] / MEGA for _, told in counted], 1)[0]
    return float(slope * 60)
