"""What a stranger writes to a topic of ours holds up nobody."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from services.setaside.letters import read_letters

FLOW = """
flow: {flow}
delivery: DELIVERY
sources:
  clicks: {topic: {source}, key: user}
operators:
  pages: {op: aggregate, input: clicks, by: [page], emit: {n: count()}}
sinks:
  out: {input: pages, topic: {sink}}
"""
FOREIGN = (b"what is this?", b"", None)
PATIENCE_S = 30.0


def clicks(count: int) -> list[dict]:
    return [{"user": f"u{n % 9}", "page": f"p{n % 13}"} for n in range(count)]


def edge_of(flow: Any) -> Iterator[TopicPartition]:
    """The partitions of its edge topic."""
    topics = AdminClient({"bootstrap.servers": flow.bootstrap}).list_topics(timeout=PATIENCE_S).topics
    (name,) = [each for each in topics if each.startswith(f"stig.flow.{flow.name}.edge.")]
    return (TopicPartition(name, partition) for partition in topics[name].partitions)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_records_of_strangers_on_an_edge_become_dead_letters(pair: Any, stage: Callable, delivery: str) -> None:
    """Each of them parked its partition for good, and all that came behind it waited."""
    flow = stage(FLOW.replace("DELIVERY", delivery))
    submission = flow.submit(pair, "a", "b")
    flow.feed(clicks(100))
    flow.until_results(100)
    partitions = list(edge_of(flow))
    producer = Producer({"bootstrap.servers": flow.bootstrap, "log_level": 0})
    for at in partitions:
        for value in FOREIGN:
            producer.produce(at.topic, value, partition=at.partition)
    assert 0 == producer.flush(PATIENCE_S)
    flow.feed(clicks(100))
    counts: dict[str, list[int]] = {}
    for each in flow.until_results(200):
        counts.setdefault(each["page"], []).append(each["n"])
    assert {page: list(range(1, len(found) + 1)) for page, found in counts.items()} == counts
    flow.until(lambda: len(list(read_letters(flow.bootstrap, flow.name))) >= 3 * len(partitions), "all are told")
    letters: list[Any] = [each.letter for each in read_letters(flow.bootstrap, flow.name)]
    expected = sorted((at.topic, at.partition, value or b"") for at in partitions for value in FOREIGN)
    assert expected == sorted((each.origin.topic, each.origin.partition, each.value or b"") for each in letters)
    assert all(flow.statuses()[slot].state == "running" for slot in submission.placements)
