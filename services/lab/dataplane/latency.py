"""Measure: how long a record takes from its sender to the reader of its result, at several loads.

The same records at the same rates go through a host and through a bare loop that hands every result on at once. One
process sends; this one reads, so that both clocks are the same machine's. What all of them manage at most on this
machine, together with the broker, is found first: loads are shares of that.

At least once, a reader may see results before they are committed, and the bench's does; exactly once it waits.
"""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
from confluent_kafka import Consumer, TopicPartition

from services.lab.dataplane.contestants import BARE_LOOP, OURS, SIDES, Bout, Contestant, bare_loop, ours
from services.lab.dataplane.ground import BenchError, Ground
from services.lab.dataplane.trial import running
from services.lab.dataplane.workloads import FILTER_PROJECT, PARTITIONS
from services.lab.results import Row

LOADS = (0.1, 0.5, 0.8)
UNLIMITED = 0
FIRST_RESULT_TIMEOUT_S = 60.0
WARM_UP_S, WARM_UP_S_MAX, MEASURED_S = 2.0, 30.0, 5.0
CAUGHT_UP = 1.05
"""So many results for each record that is sent, at most, mean that no backlog of the start is worked off any more."""
EXACTLY_ONCE = f"{OURS}, exactly_once"


MEASURED = (ours(OURS), bare_loop(BARE_LOOP, "--at-once"), ours(EXACTLY_ONCE, delivery="exactly_once"))


def latency(ground: Ground, *, repetitions: int) -> list[Row]:
    """Median and 99th percentile of each side at each load, and ours over the bare loop's."""
    for side in MEASURED:
        ground.say(f"warming the broker up for {side.name}")
        _rate_per_s(ground, side)
    ground.say("finding the rate that this machine sustains")
    capacity_per_s = min(_rate_per_s(ground, side) for side in MEASURED[:2])
    found = [Row.of("latency: rate at full load", [capacity_per_s], "records/s")]
    for load in LOADS:
        quantiles: dict[str, list[tuple[float, float]]] = {side.name: [] for side in MEASURED}
        for repetition in range(repetitions):
            for side in MEASURED:
                name = side.name
                ground.say(f"latency at {load:.0%}, {name}, repetition {repetition + 1} of {repetitions}")
                samples_ms = _latencies_ms(ground, side, round(load * capacity_per_s))
                quantiles[name].append((float(np.quantile(samples_ms, 0.5)), float(np.quantile(samples_ms, 0.99))))
        found += _rows(load, quantiles)
    return found


def _rows(load: float, quantiles: dict[str, list[tuple[float, float]]]) -> Iterator[Row]:
    for column, quantile in enumerate(("p50", "p99")):
        measure = f"latency at {load:.0%} load, {quantile}"
        for name, each in quantiles.items():
            yield Row.of(f"{measure}: {name}", [pair[column] for pair in each], "ms")
        pairs = zip(quantiles[OURS], quantiles[BARE_LOOP], strict=True)
        ratios = [one[column] / other[column] for one, other in pairs]
        yield Row.of(f"{measure}: {OURS} over {BARE_LOOP}", ratios, "ratio", baseline=BARE_LOOP)


def _rate_per_s(ground: Ground, side: Contestant) -> float:
    """Results/s while the sender does all it can."""
    with _stream(ground, side, UNLIMITED) as read:
        begin_s = time.monotonic()
        count = 0
        while time.monotonic() < begin_s + MEASURED_S:
            count += len(read())
        return count / (time.monotonic() - begin_s)


def _latencies_ms(ground: Ground, side: Contestant, rate_per_s: int) -> list[float]:
    samples_ms: list[float] = []
    with _stream(ground, side, rate_per_s) as read:
        end_s = time.monotonic() + MEASURED_S
        while time.monotonic() < end_s:
            samples_ms += read()
    return samples_ms


@contextmanager
def _stream(ground: Ground, side: Contestant, rate_per_s: int) -> Iterator[Callable[[], list[float]]]:
    """A sender, a side and a reader at work, warm. Each call of the reader gives the latencies of what came, in ms."""
    source, sink = ground.new_topic("source"), ground.new_topic("sink")
    bout = Bout(ground, f"bench-{uuid.uuid4().hex[:8]}", FILTER_PROJECT, source, sink)
    reader = _Reader(ground.bootstrap, sink, is_committed=side.is_committed)
    pacer = [sys.executable, str(SIDES / "pacer.py"), ground.bootstrap, source, str(rate_per_s)]
    log = ground.folder / f"{bout.id}.log"
    try:
        with running([*side.commands(bout), pacer], log) as children:
            _warm_up(reader, children, rate_per_s)
            yield reader.read_ms
    finally:
        reader.close()
        for name in (bout.id, source, sink):
            ground.drop_topics(name)


def _warm_up(reader: "_Reader", children: list[subprocess.Popen[bytes]], rate_per_s: int) -> None:
    """Until it runs, and has worked off what was sent before it did: a side that takes longer to start has more."""
    deadline_s = time.monotonic() + FIRST_RESULT_TIMEOUT_S
    while not reader.read_ms():
        if time.monotonic() > deadline_s or any(child.poll() is not None for child in children):
            raise BenchError("no result came, or a process ended before its time")
    begin_s = time.monotonic()
    while time.monotonic() < begin_s + WARM_UP_S_MAX:
        count, part_s = 0, time.monotonic()
        while time.monotonic() < part_s + WARM_UP_S:
            count += len(reader.read_ms())
        if rate_per_s == UNLIMITED or count <= CAUGHT_UP * rate_per_s * (time.monotonic() - part_s):
            return


class _Sent(msgspec.Struct, gc=False):
    """Of a result: when its record was sent. It travels in the field that the workload passes on as `port`."""

    port: int


class _Reader:
    def __init__(self, bootstrap: str, topic: str, *, is_committed: bool) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if is_committed else "read_uncommitted",
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        self._decode = msgspec.json.Decoder(_Sent).decode

    def read_ms(self) -> list[float]:
        """The latencies of all results that have come; waits a little for the first."""
        first = self._consumer.poll(0.1)
        if first is None:
            return []
        messages = [first, *self._consumer.consume(10_000, timeout=0)]
        now_us = time.time_ns() // 1_000
        raws = [message.value() or b"" for message in messages if message.error() is None]
        return [(now_us - self._decode(raw).port) / 1_000 for raw in raws]

    def close(self) -> None:
        self._consumer.close()
