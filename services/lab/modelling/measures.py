"""From a metric on its topic to a model in Redis: how long that takes, at which load, on how much processor and memory.

The service runs as it does under `stigmergy up`, as a process of its own; it is watched from outside: the broker says
when rows were appended, Redis when a model first knew their second, and the system how much memory there is. At the
end it is killed some times.
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from redis import Redis

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.ports import LOOPBACK, choose_ports
from services.lab.dataplane.ground import BenchError, Say, wait_until
from services.lab.modelling.feed import Feed, Feeder
from services.lab.modelling.restart import Outage, kill, restart_rows
from services.lab.results import Row
from services.modelling.furnish import modelling_process
from services.modelling.mirror_layout import hash_of, models_in
from services.settings import Settings

POLL_S = 0.02
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
    afterwards.
    """

    rows: int = 2_000
    operators: int | None = None
    seconds: int = 180
    warm_s: int = 60
    cores: int = 2
    master: str | None = None
    restarts: int = 3
    seed: int = 1

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

    def learn(self, values: Mapping[str, bytes | None], now_s: float) -> None:
        """What Redis has now of the watched keys."""
        for model in models_in({key.encode(): value for key, value in values.items() if value is not None}):
            since = self.newest.get(model.key, model.second - 1) + 1
            for second in range(since, model.second + 1):
                self.known_s[model.key, second] = now_s
            self.newest[model.key] = max(since - 1, model.second)


def measure(params: Params, settings: Settings, *, say: Say) -> list[Row]:
    """Starts a broker, Redis and the service, feeds them, and says what was seen."""
    say("starting a broker")
    with (
        tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True) as folder,
        EmbeddedStack(
            StackParams(home=Path(folder) / "stack", kafka_home=settings.kafka_home, cache=settings.cache)
        ) as stack,
    ):
        make_topics(stack.bootstrap)
        port = choose_ports([None])[0]
        say("starting Spark")
        began_s = time.monotonic()
        stack.run(modelling_process(stack, params.spark, port))
        wait_until(lambda: bool(figures_at(port)), timeout_s=START_TIMEOUT_S, what="the modelling service")
        up_s = time.monotonic() - began_s
        feeder = Feeder(stack.bootstrap)
        first = int(time.time()) + 2
        watched = _watched(params)
        with _watching(stack.redis_url, port, watched) as seen:
            for second in range(first, first + params.seconds):
                say(f"{second - first} of {params.seconds} s")
                feeder.write_second(params.feed.rows(second), second)
            seen.behind_s = first + params.seconds - 1 - max((second for _, second in list(seen.known_s)), default=0)
            feeder.flush()
            last = first + params.seconds - 2
            with contextlib.suppress(BenchError):  # then they count as not modelled in time
                wait_until(
                    lambda: any(second >= last for _, second in list(seen.known_s)),
                    timeout_s=END_TIMEOUT_S,
                    what="the models of the last second",
                )
        found = rows(params, seen, feeder, first, up_s)
        outages = [_restart(params, stack, feeder, watched[0], say) for _ in range(params.restarts)]
    return found + (restart_rows(outages, params.name) if outages else [])


def _restart(params: Params, stack: EmbeddedStack, feeder: Feeder, key: str, say: Say) -> Outage:
    """One kill of the service, while the feed goes on."""
    second = int(time.time()) + 1
    kills_at = second + BETWEEN_S
    outage: Future[Outage] | None = None
    with Redis.from_url(stack.redis_url) as redis, ThreadPoolExecutor(1) as beside:
        while outage is None or not outage.done():
            say(f"killed {second - kills_at} s ago" if outage else f"kill -9 in {kills_at - second} s")
            feeder.write_second(params.feed.rows(second), second)
            second += 1
            if outage is None and second >= kills_at:
                outage = beside.submit(kill, stack, redis, key)
        return outage.result()


def rows(params: Params, seen: Seen, feeder: Feeder, first: int, up_s: float) -> list[Row]:
    """The figures after warming up."""
    since, until = first + params.warm_s, first + params.seconds - 2
    watched = {place: ms for place, ms in feeder.appended_ms.items() if since <= place[1] <= until}
    latencies_s = [seen.known_s[place] - ms / 1_000 for place, ms in watched.items() if place in seen.known_s]
    if not latencies_s:
        raise BenchError(f"no model came within {params.seconds} s; the load is too much for {params.spark}")
    counted = [(at_s, told) for at_s, told in seen.figures if since <= at_s <= until + 1]
    name = params.name
    missing = 1.0 - len(latencies_s) / len(watched)
    made = [
        _quantile(f"metric to model, p50: {name}", latencies_s, 0.5),
        _quantile(f"metric to model, p95: {name}", latencies_s, 0.95),
        Row.of(f"rows written: {name}", [feeder.written / params.seconds], "1/s"),
        Row.of(f"share of rows not modelled in time: {name}", [missing], "share"),
        Row.of(f"models behind at the end of the feed: {name}", [float(seen.behind_s)], "s"),
        Row.of(f"start until the query runs: {name}", [up_s], "s"),
    ]
    if not counted:  # too busy to tell
        return made
    made += [
        Row.of(f"memory, JVM and driver: {name}", [told["memory_bytes"] / MEGA for _, told in counted], "MB"),
        Row.of(f"memory growth: {name}", [_slope_per_minute(counted)], "MB/min"),
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
        with Redis.from_url(redis_url) as redis:
            while not over.wait(POLL_S):
                pipeline = redis.pipeline(transaction=False)
                for key in keys:
                    pipeline.hget(hash_of(key), key)
                seen.learn(dict(zip(keys, pipeline.execute(), strict=True)), time.time())

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


def _quantile(measure: str, samples: Sequence[float], share: float) -> Row:
    return Row(
        measure=measure,
        value=float(np.quantile(samples, share)),
        unit="s",
        spread=(min(samples), max(samples)),
        repetitions=len(samples),
    )
