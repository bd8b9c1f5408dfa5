"""Part: from `stigmergy submit` to the first result in the sink, with a fresh flow each time.

Records come to the source all the while, so that a result can come as soon as the flow runs. The command is the real
one, in a process of its own; what it takes to start is counted too, and told apart.
"""

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition

from services.lab.cluster.site import Site
from services.lab.cluster.trickle import Entry, trickle
from services.lab.cluster.watch import Seen, runs, slots_of
from services.lab.dataplane.ground import BenchError
from services.lab.results import Row
from services.registry.asking import now_ms
from services.registry.changes import withdrawn
from services.registry.view import Slot
from services.registry.write import write
from topics.messages import CommittedPlan, FlowRevision, Placement, SegmentStatus

RESULT_TIMEOUT_S = 120.0
COMMAND_TIMEOUT_S = 60.0
RECORD_EVERY_S = 0.02
REST_S = 3.0
"""Between two flows: the former one ends."""
TEXT = """
flow: NAME
sources:
  clicks: {topic: NAME-clicks, key: id}
operators:
  wanted: {op: filter, input: clicks, where: "id >= 0"}
  counts: {op: aggregate, input: wanted, by: [user], emit: {n: count()}}
sinks:
  out: {input: counts, topic: NAME-counts, key: user}
"""
"""Two segments with an edge between them, the second one with state."""


@dataclass(frozen=True, slots=True)
class Submission:
    """How long after the command started: flow in the registry, plan, placed, running, first result."""

    written_s: float
    planned_s: float
    placed_s: float
    running_s: float
    result_s: float


def submit(site: Site, *, repetitions: int) -> list[Row]:
    """Flows one after the other."""
    return rows(site.repeated("submit", repetitions, lambda number: _submitted(site, f"submit-{number}")))


def _submitted(site: Site, flow: str) -> Submission:
    text = TEXT.replace("NAME", flow)
    source, sink = site.ground.make_topic(f"{flow}-clicks", 1), site.ground.make_topic(f"{flow}-counts", 1)
    file = site.ground.folder / f"{flow}.yaml"
    file.write_text(text)
    slots = slots_of(text)
    records = trickle(site.bootstrap, [source], _click, every_s=RECORD_EVERY_S)
    with records, _reader(site.bootstrap, sink) as consumer:
        begun_s = time.monotonic()
        command = [sys.executable, "-m", "services.cli.main", "submit", str(file), "--no-wait"]
        ran = subprocess.Popen(
            [*command, "--bootstrap", site.bootstrap], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            result_s = _first(consumer, begun_s, flow)
            _, said = ran.communicate(timeout=COMMAND_TIMEOUT_S)
        finally:
            ran.kill()
        if ran.returncode:
            raise BenchError(f"stigmergy submit ended with {ran.returncode}: {said.decode(errors='replace').strip()}")
    site.watch.until(
        lambda view: all(runs(view, slot) for slot in slots),
        timeout_s=RESULT_TIMEOUT_S,
        what=f"{flow} to say that it runs",
    )
    made = submission_of(site.watch.since(begun_s), flow, slots, begun_s=begun_s, result_s=result_s)
    write(site.bootstrap, site.watch.of(lambda view: withdrawn(view, flow, now_ms=now_ms())))
    time.sleep(REST_S)
    return made


def submission_of(
    seen: Sequence[Seen], flow: str, slots: frozenset[Slot], *, begun_s: float, result_s: float
) -> Submission:
    """The moments of one flow, of all that was seen since the command began."""
    placed: dict[Slot, float] = {}
    running: dict[Slot, float] = {}
    written_s = planned_s = None
    for each in seen:
        match each.message:
            case FlowRevision(flow=name) if name == flow and written_s is None:
                written_s = each.at_s
            case CommittedPlan(flow=name) if name == flow and planned_s is None:
                planned_s = each.at_s
            case Placement(segment=segment, partition=partition, host=str()) if (segment, partition) in slots:
                placed.setdefault((segment, partition), each.at_s)
            case SegmentStatus(segment=segment, partition=number, state="running") if (segment, number) in slots:
                running.setdefault((segment, number), each.at_s)
    if written_s is None or planned_s is None or len(placed) < len(slots) or len(running) < len(slots):
        raise BenchError(f"{flow} gave a result, but the registry does not say how")
    return Submission(
        written_s - begun_s,
        planned_s - begun_s,
        max(placed.values()) - begun_s,
        max(running.values()) - begun_s,
        result_s - begun_s,
    )


def rows(found: Sequence[Submission]) -> list[Row]:
    """Median and largest, from the command's start and from the flow's entry in the registry; and where time goes."""
    whole = [each.result_s for each in found]
    rest = [each.result_s - each.written_s for each in found]
    return [
        Row.of("submit to first result, from the command's start, median", whole, "s"),
        Row.quantile("submit to first result, from the command's start, largest", whole, 1.0, "s"),
        Row.of("submit to first result, from the registry's entry, median", rest, "s"),
        Row.quantile("submit to first result, from the registry's entry, largest", rest, 1.0, "s"),
        Row.of("submit: the command's start to the registry's entry", [each.written_s for each in found], "s"),
        Row.of("submit: the registry's entry to the plan", [each.planned_s - each.written_s for each in found], "s"),
        Row.of(
            "submit: the plan to owners for all partitions", [each.placed_s - each.planned_s for each in found], "s"
        ),
        Row.of("submit: owners to all partitions running", [each.running_s - each.placed_s for each in found], "s"),
    ]


def _click(number: int) -> Entry:
    return b"%d" % number, b'{"id":%d,"user":"u%d"}' % (number, number % 10)


@contextmanager
def _reader(bootstrap: str, topic: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        yield consumer
    finally:
        consumer.close()


def _first(consumer: Consumer, begun_s: float, flow: str) -> float:
    """When the first result comes."""
    while time.monotonic() < begun_s + RESULT_TIMEOUT_S:
        record = consumer.poll(0.05)
        if record is not None and record.error() is None:
            return time.monotonic()
    raise BenchError(f"no result of {flow} in {RESULT_TIMEOUT_S:.0f} s")
