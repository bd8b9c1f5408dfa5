"""Who owned what, and when: the registry's whole history against what hosts said and wrote.

- every partition has exactly one owner an epoch, and its epochs never go down;
- whoever said that it runs a partition in an epoch was the owner of that epoch;
- behind a write of a later epoch no write of an earlier one was ever committed: stale owners do not write.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from confluent_kafka import TopicPartition

from services.host.segment_plan import SegmentPlan
from services.registry.snapshot import read_to_end, reader
from services.registry.view import Slot
from tests.chaos.ground import answer
from tests.chaos.observed import Observer
from tests.chaos.verdict import Verdict
from topics import catalogue
from topics.catalogue import EDGE
from topics.messages import Placement, SegmentStatus
from topics.topic import Topic

Owners = dict[tuple[Slot, int], str | None]
"""By partition and epoch."""


def judge_owners(verdict: Verdict, observer: Observer, flow: str, plans: Sequence[SegmentPlan]) -> None:
    """Notes in the verdict what is wrong."""
    placed = [each for each in answer(lambda: list(_history(observer, catalogue.PLACEMENTS))) if each.flow == flow]
    told = answer(lambda: list(_history(observer, catalogue.SEGMENTS_STATUS)))
    owners, wrong = epochs_of(placed)
    if wrong:
        verdict.note(f"the registry contradicts itself {len(wrong)} times", wrong)
    segments = {plan.segment.id for plan in plans}
    strange = strange_words(owners, [each for each in told if each.segment in segments])
    if strange:
        verdict.note(f"{len(strange)} words of hosts about what is not theirs", strange)
    for topic in {output.topic for plan in plans for output in plan.outputs if output.sink is None}:
        _judge_edge(verdict, observer, topic)


def _history(observer: Observer, topic: Topic[Any]) -> Iterator[Any]:
    """All messages of a registry topic: nothing is compacted within the hour."""
    with reader(observer.bootstrap) as consumer:
        for record in read_to_end(consumer, [TopicPartition(topic.name, 0)]):
            yield topic.codec.decode(record.value(), topic=topic.name, partition=0, offset=record.offset() or 0)


def epochs_of(placed: Sequence[Placement]) -> tuple[Owners, list[str]]:
    """The owner of each partition in each epoch, and what contradicts that."""
    owners: Owners = {}
    last: dict[Slot, int] = {}
    wrong = []
    for each in placed:
        slot = (each.segment, each.partition)
        if owners.setdefault((slot, each.epoch), each.host) != each.host:
            wrong.append(f"{slot} has two owners in epoch {each.epoch}: {owners[slot, each.epoch]} and {each.host}")
        if each.epoch < last.get(slot, 0):
            wrong.append(f"{slot} went from epoch {last[slot]} back to {each.epoch}")
        last[slot] = each.epoch
    return owners, wrong


def strange_words(owners: Owners, told: Sequence[SegmentStatus]) -> list[str]:
    """What hosts said of partitions in epochs that were not theirs."""
    return [
        f"{each.host} says that {each.segment}/{each.partition} is {each.state} in epoch {each.epoch}, which is "
        f"{owners.get(((each.segment, each.partition), each.epoch))}'s"
        for each in told
        if owners.get(((each.segment, each.partition), each.epoch)) != each.host
    ]


def _judge_edge(verdict: Verdict, observer: Observer, topic: str) -> None:
    reached: dict[tuple[int, str, int], int] = {}
    stale = []
    for row in answer(lambda: observer.rows(topic)):
        block = EDGE.codec.decode(row.value, topic=topic, partition=row.partition, offset=row.offset)
        writer = (row.partition, block.segment, block.partition)
        if block.epoch < reached.get(writer, 0):
            stale.append(f"offset {row.offset}: epoch {block.epoch} after {reached[writer]}, by {writer}")
        reached[writer] = max(block.epoch, reached.get(writer, 0))
    if stale:
        verdict.note(f"{topic}: {len(stale)} blocks of a stale owner", stale)
