"""Measure: how much memory a host takes to work off a backlog that is many times larger.

Records of a kilobyte wait on the broker; one in a hundred passes the filter, so that the sink does not fill the disk.
The kernel holds the host to its limit (RLIMIT_DATA: what it allocates, not what it maps), and its memory is looked at
all the time. A host that wants more than its limit is not slow, but dead.
"""

import time
import uuid
from collections.abc import Iterator

import psutil
from confluent_kafka import Consumer, TopicPartition

from services.lab.dataplane.contestants import host_command
from services.lab.dataplane.ground import BenchError, Ground
from services.lab.dataplane.trial import running
from services.lab.dataplane.workloads import PARTITIONS
from services.lab.results import Row
from services.registry.submit import submit
from topics.flow.file import parse_graph

LIMIT_MB = 512
RECORD_BYTES = 1_000
SLICE_RECORDS = 200_000
LOOK_EVERY_S = 0.1
STALL_TIMEOUT_S = 60.0

FLOW = """
flow: {flow}
sources:
  packets: {{topic: {source}, key: src}}
operators:
  rare: {{op: filter, input: packets, where: "n % 100 == 0"}}
sinks:
  out: {{input: rare, topic: {sink}}}
"""


def backlog(ground: Ground, *, gigabytes: float) -> list[Row]:
    """The most memory that the host took, and how fast it was."""
    records = round(gigabytes * 1e9 / RECORD_BYTES)
    source, sink = ground.new_topic("source"), ground.new_topic("sink")
    for first in range(0, records, SLICE_RECORDS):
        ground.say(f"writing a backlog of {gigabytes:g} GB: {first * RECORD_BYTES / 1e9:.1f} GB done")
        ground.write(source, _records(first, min(records, first + SLICE_RECORDS)))
    name = f"bench-{uuid.uuid4().hex[:8]}"
    text = FLOW.format(flow=name, source=source, sink=sink)
    submit(ground.bootstrap, text, hosts=[f"{name}-host"])
    (segment,) = parse_graph(text).segments
    log = ground.folder / f"{name}.log"
    with running([host_command(ground, f"{name}-host")], log) as (child,):
        psutil.Process(child.pid).rlimit(psutil.RLIMIT_DATA, (LIMIT_MB << 20, LIMIT_MB << 20))
        try:
            most_mb, took_s = _worked_off(ground, child.pid, f"stig.{segment.id}", source, records)
        except BenchError as fault:
            raise BenchError(f"{fault}; the host's first words: {log.read_text()[:1_000]}") from fault
    ground.drop_topics(source)
    ground.drop_topics(sink)
    title = f"backlog of {gigabytes:g} GB under a limit of {LIMIT_MB} MB"
    return [Row.of(f"{title}, memory", [most_mb], "MB at most"), Row.of(title, [records / took_s], "records/s")]


def _worked_off(ground: Ground, pid: int, group: str, source: str, records: int) -> tuple[float, float]:
    """Watches until all is committed: the largest memory seen, and the time from the first commit on."""
    host = psutil.Process(pid)
    consumer = Consumer({"bootstrap.servers": ground.bootstrap, "group.id": group, "log_level": 0})
    places = [TopicPartition(source, partition) for partition in range(PARTITIONS)]
    most_mb, done, moved_s, begun_s = 0.0, 0, time.monotonic(), None
    try:
        while done < records:
            most_mb = max(most_mb, host.memory_info().rss / 1e6)
            now_done = sum(max(0, at.offset) for at in consumer.committed(places, timeout=30))
            if now_done > done:
                done, moved_s = now_done, time.monotonic()
                begun_s = begun_s or moved_s
                ground.say(f"worked off {done:,} of {records:,} records; {most_mb:.0f} MB at most")
            elif time.monotonic() > moved_s + STALL_TIMEOUT_S:
                what = f"{done:,} of {records:,} records, {most_mb:.0f} MB at most"
                raise BenchError(f"no progress for {STALL_TIMEOUT_S:.0f} s after {what}")
            time.sleep(LOOK_EVERY_S)
    except psutil.NoSuchProcess as gone:
        raise BenchError(f"the host ended after {done:,} of {records:,} records") from gone
    finally:
        consumer.close()
    return most_mb, max(LOOK_EVERY_S, time.monotonic() - (begun_s or moved_s))


def _records(first: int, end: int) -> Iterator[bytes]:
    padding = b"x" * (RECORD_BYTES - 45)
    for number in range(first, end):
        yield b'{"n":%d,"src":"%08d","padding":"%s"}' % (number, number % 1_000, padding)
