"""Measure: how fast a host that starts again rebuilds its state, from the changelog and from a snapshot.

State is that of count-and-sum with a key for every record. The first recovery finds no snapshot, since each key
changed just once: the changelog is as short as it can be. Before the second one keys have a history of changes, and the
host is stopped before it could write a snapshot. Of that one is due when it starts again, and a trickle of input gives
it the commits in which it writes one, some pieces in each.
"""

import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from services.lab.dataplane.contestants import host_command
from services.lab.dataplane.ground import BenchError, Ground, wait_until
from services.lab.dataplane.trial import running
from services.lab.dataplane.workloads import COUNT_SUM, PARTITIONS
from services.lab.results import Row
from services.registry.submit import submit

HISTORY = 1.9
"""Changes of a key after its first: a snapshot is due after two in all, and takes a dozen commits."""
WORK_TIMEOUT_S, START_TIMEOUT_S = 300.0, 120.0
TRICKLE_RECORDS, TRICKLE_EVERY_S = 40, 0.05
TRICKLE_S = 15.0


def recovery(ground: Ground, *, keys: int, repetitions: int) -> list[Row]:
    """Keys/s from each, and how the times compare."""
    source, sink = ground.new_topic("source"), ground.new_topic("sink")
    flow = f"bench-{uuid.uuid4().hex[:8]}"
    host = f"{flow}-host"
    ground.say(f"making state of {keys:,} keys")
    ground.write(source, _records(keys, keys=keys))
    command = host_command(ground, host, log_level="info")
    submit(ground.bootstrap, COUNT_SUM.flow(flow, source=source, sink=sink), hosts=[host])

    def work_off(records: int, *, trickle_s: float = 0.0) -> None:
        with running([command], ground.folder / f"{flow}-work.log"):
            wait_until(
                lambda: ground.visible(sink, is_committed=True) >= records,
                timeout_s=WORK_TIMEOUT_S,
                what=f"{records} results",
            )
            end_s = time.monotonic() + trickle_s
            while time.monotonic() < end_s:
                ground.write(source, _records(TRICKLE_RECORDS, keys=keys))
                time.sleep(TRICKLE_EVERY_S)

    def recover(from_what: str, *, entries: int) -> list[float]:
        times = []
        for repetition in range(repetitions):
            ground.say(f"recovery from {from_what}, repetition {repetition + 1} of {repetitions}")
            log = ground.folder / f"{flow}-{from_what}-{repetition}.log"
            with running([command], log):
                wait_until(partial(_is_recovered, log), timeout_s=START_TIMEOUT_S, what=f"recovery; see {log}")
            times.append(_took_s(log, entries))
        return times

    work_off(keys)
    changelog_s = recover("changelog", entries=keys)
    ground.say("changing keys, too fast for a snapshot")
    more = round(HISTORY * keys)
    ground.write(source, _records(more, keys=keys))
    work_off(keys + more)
    history_s = recover("history", entries=keys + more)
    ground.say("changing some keys, and waiting for a snapshot")
    last = keys // 10
    ground.write(source, _records(last, keys=keys))
    work_off(keys + more + last, trickle_s=TRICKLE_S)
    snapshot_s = recover("snapshot", entries=keys)
    ground.drop_topics(flow)
    ground.drop_topics(source)
    ground.drop_topics(sink)
    return [
        Row.of(f"recovery of {keys:,} keys from changelog", [keys / each for each in changelog_s], "keys/s"),
        Row.of(f"the same, {1 + HISTORY:.1f} changes of each key", [keys / each for each in history_s], "keys/s"),
        Row.of(f"recovery of {keys:,} keys from snapshot", [keys / each for each in snapshot_s], "keys/s"),
        _share("recovery from snapshot over changelog", snapshot_s, changelog_s),
        _share(f"recovery from snapshot over changelog with {1 + HISTORY:.1f} changes", snapshot_s, history_s),
    ]


def _share(measure: str, times_s: list[float], baseline_s: list[float]) -> Row:
    ratios = [one / other for one, other in zip(times_s, baseline_s, strict=True)]
    return Row.of(measure, ratios, "ratio of times", baseline="changelog")


def _records(count: int, *, keys: int) -> Iterator[bytes]:
    now_ms = time.time_ns() // 1_000_000
    for number in range(count):
        yield b'{"ts":%d,"src":"%08d","bytes":%d}' % (now_ms, number % keys, number % 1_500)


def _events(log: Path, event: str) -> list[dict[str, object]]:
    lines = [line for line in log.read_bytes().splitlines() if line.startswith(b"{") and line.endswith(b"}")]
    return [each for each in map(msgspec.json.decode, lines) if each.get("event") == event]


def _is_recovered(log: Path) -> bool:
    return len(_events(log, "task runs")) == PARTITIONS


def _took_s(log: Path, entries: int) -> float:
    """From the moment at which the first task is about to fence its former owner to the last task's start.

    The number of entries shows what was read: a snapshot, or a changelog of several changes for each key.
    """
    tasks = _events(log, "task runs")
    restored = sum(int(str(each["restored"])) for each in tasks)
    if not entries <= restored <= 1.4 * entries:
        raise BenchError(f"{restored:,} entries were read where {entries:,} were expected; see {log}")
    begin = min(_at_s(each) for each in _events(log, "task recovers"))
    return max(_at_s(each) for each in tasks) - begin


def _at_s(event: dict[str, object]) -> float:
    return datetime.fromisoformat(str(event["timestamp"])).timestamp()
