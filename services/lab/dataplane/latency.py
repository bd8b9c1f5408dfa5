"""Measure: how long a record takes from its sender to the reader of its result, at several loads.

The same records at the same rates go through a host and through a bare loop that hands every result on at once. One
process sends; this one reads, so that both clocks are the same machine's. What all of them manage at most on this
machine, together with the broker, is found first: loads are shares of that.

At least once, a reader may see results before they are committed, and the bench's does; exactly once it waits.

Beside each latency stands how many processors each party took meanwhile, and how large the batches of results were.
"""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import msgspec
import numpy as np
from confluent_kafka import Consumer, TopicPartition

from services.lab.dataplane.batches import sizes_bytes, written
from services.lab.dataplane.contestants import BARE_LOOP, OURS, SIDES, Bout, Contestant, bare_loop, ours
from services.lab.dataplane.ground import BenchError, Ground
from services.lab.dataplane.parties import Used, cores, used
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


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trial at one load showed. `cores`: how many processors each party kept busy, by its name."""

    p50_ms: float
    p99_ms: float
    cores: Mapping[str, float]
    batch_records: float
    batches_per_s: float


def latency(ground: Ground, *, repetitions: int) -> list[Row]:
    """Median and 99th percentile of each side at each load, ours over the bare loop's, and what it took."""
    for side in MEASURED:
        ground.say(f"warming the broker up for {side.name}")
        _rate_per_s(ground, side)
    ground.say("finding the rate that this machine sustains")
    capacity_per_s = min(_rate_per_s(ground, side) for side in MEASURED[:2])
    found = [Row.of("latency: rate at full load", [capacity_per_s], "records/s")]
    for load in LOADS:
        seen: dict[str, list[Seen]] = {side.name: [] for side in MEASURED}
        for repetition in range(repetitions):
            first = repetition % len(MEASURED)  # who comes first finds another machine than who comes last
            for side in (*MEASURED[first:], *MEASURED[:first]):
                name = side.name
                ground.say(f"latency at {load:.0%}, {name}, repetition {repetition + 1} of {repetitions}")
                seen[name].append(_seen(ground, side, round(load * capacity_per_s)))
        found += rows(load, seen)
    return found


def rows(load: float, seen: Mapping[str, list[Seen]]) -> Iterator[Row]:
    """At one load, by side: latencies, who kept how many processors busy, and batches of results."""
    at = f"latency at {load:.0%} load"
    quantiles_ms = {
        "p50": {name: [each.p50_ms for each in trials] for name, trials in seen.items()},
        "p99": {name: [each.p99_ms for each in trials] for name, trials in seen.items()},
    }
    for quantile, by_name in quantiles_ms.items():
        for name, samples_ms in by_name.items():
            yield Row.of(f"{at}, {quantile}: {name}", samples_ms, "ms")
        pairs = zip(by_name[OURS], by_name[BARE_LOOP], strict=True)
        ratios = [one_ms / other_ms for one_ms, other_ms in pairs]
        yield Row.of(f"{at}, {quantile}: {OURS} over {BARE_LOOP}", ratios, "ratio", baseline=BARE_LOOP)
        of_medians = median(by_name[OURS]) / median(by_name[BARE_LOOP])
        measure = f"{at}, {quantile}: median of {OURS} over median of {BARE_LOOP}"
        yield Row.of(measure, [of_medians], "ratio", baseline=BARE_LOOP)
    for name, trials in seen.items():
        for party in trials[0].cores:
            yield Row.of(f"{at}, {party}: {name}", [each.cores[party] for each in trials], "cores")
        yield Row.of(f"{at}, a batch of results: {name}", [each.batch_records for each in trials], "records")
        yield Row.of(f"{at}, batches of results: {name}", [each.batches_per_s for each in trials], "batches/s")


def _rate_per_s(ground: Ground, side: Contestant) -> float:
    """Results/s while the sender does all it can."""
    with _stream(ground, side, UNLIMITED) as stream:
        begin_s = time.monotonic()
        count = 0
        while time.monotonic() < begin_s + MEASURED_S:
            count += len(stream.reader.read_ms())
        return count / (time.monotonic() - begin_s)


def _seen(ground: Ground, side: Contestant, rate_per_s: int) -> Seen:
    samples_ms: list[float] = []
    with _stream(ground, side, rate_per_s) as stream:
        begin, begin_bytes = stream.used(), sizes_bytes(ground.broker_data, stream.sink)
        while time.monotonic() < begin.at_s + MEASURED_S:
            samples_ms += stream.reader.read_ms()
        end, end_bytes = stream.used(), sizes_bytes(ground.broker_data, stream.sink)
        batches, records = written(begin_bytes, end_bytes)
    if not batches:
        raise BenchError(f"{side.name}: no results in {MEASURED_S:.0f} s")
    return Seen(
        p50_ms=float(np.quantile(samples_ms, 0.5)),
        p99_ms=float(np.quantile(samples_ms, 0.99)),
        cores=cores(begin, end),
        batch_records=records / batches,
        batches_per_s=batches / (end.at_s - begin.at_s),
    )


@dataclass(frozen=True, slots=True)
class _Stream:
    """A sender, a side and a reader at work."""

    ground: Ground
    reader: "_Reader"
    side: list[subprocess.Popen[bytes]]
    sender: subprocess.Popen[bytes]
    sink: str

    def used(self) -> Used:
        pids = [child.pid for child in self.side]
        return used(brokers=self.ground.broker_pids, side=pids, sender=self.sender.pid)


@contextmanager
def _stream(ground: Ground, side: Contestant, rate_per_s: int) -> Iterator[_Stream]:
    """A sender, a side and a reader at work, warm."""
    source, sink = ground.new_topic("source"), ground.new_topic("sink")
    bout = Bout(ground, f"bench-{uuid.uuid4().hex[:8]}", FILTER_PROJECT, source, sink)
    reader = _Reader(ground.bootstrap, sink, is_committed=side.is_committed)
    pacer = [sys.executable, str(SIDES / "pacer.py"), ground.bootstrap, source, str(rate_per_s)]
    log = ground.folder / f"{bout.id}.log"
    try:
        with running([*side.commands(bout), pacer], log) as children:
            _warm_up(reader, children, rate_per_s)
            yield _Stream(ground, reader, children[:-1], children[-1], sink)
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
