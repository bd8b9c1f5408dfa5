"""A host sees in its own queue that a bound is about to break, and says so on the topic of models."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition

from services.registry.snapshot import read_to_end, reader
from topics import catalogue
from topics.messages import HotSpotModel, Model

FLOW = """
flow: {flow}
qos: {latency_ms: 1000}
sources:
  orders: {topic: {source}, key: user}
operators:
  rated: {python: "slow_rules:rate", input: orders}
sinks:
  out: {input: rated, topic: {sink}}
"""
RULES = """
import time

def rate(record):
    time.sleep(0.02)
    return record
"""
CALM, BURST = 60, 300
"""Records: some at ten a second, and six seconds of work at once."""


def said_of(flow: Any, host: str) -> list[Model]:
    """All that the host has said of the flow, in order."""
    topic = catalogue.MODELS
    with reader(flow.bootstrap) as consumer:
        records = list(read_to_end(consumer, [TopicPartition(topic.name, 0)]))
    mine = [record for record in records if record.key() == f"hotspot/{flow.name}/{host}".encode()]
    return [topic.codec.decode(record.value(), topic=topic.name, partition=0, offset=0) for record in mine]


def warnings_of(flow: Any, host: str) -> list[HotSpotModel]:
    """The warnings in it, and what takes them back."""
    return [model.body for model in said_of(flow, host) if isinstance(model.body, HotSpotModel)]


def test_a_queue_that_fills_is_told_before_its_records_are_late_and_taken_back_when_it_is_empty(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """Six seconds of work come at once, and the flow promises one: the last of them will be five seconds late."""
    (tmp_path / "slow_rules.py").write_text(RULES)
    hosts.start("a", extra=["--allow", f"{tmp_path}/"])
    flow = stage(FLOW, partitions=1)
    flow.submit(hosts, "a")
    orders = [{"user": "u", "n": number} for number in range(CALM + BURST)]
    with flow.feeding(orders[:CALM], chunk=1, every_s=0.1):
        flow.until_results(CALM // 2)
    flow.until_results(CALM)
    assert [] == warnings_of(flow, hosts.name("a")), "ten records a second are a fifth of what it can do"

    fed_ms = time.time() * 1e3
    flow.feed(orders[CALM:])
    flow.until(lambda: warnings_of(flow, hosts.name("a")), "the host warns of it")
    assert said_of(flow, hosts.name("a"))[0].made_ms - fed_ms < 3_000, "while half of it is still to be done"
    warned = warnings_of(flow, hosts.name("a"))[0]
    assert (flow.name, hosts.name("a"), "rated") == (warned.flow, warned.host, warned.operator)
    assert warned.in_s
    assert warned.slack_ms < 0
    flow.until_results(CALM + BURST)
    flow.until(lambda: warnings_of(flow, hosts.name("a"))[-1].in_s is None, "it is taken back")
    assert hosts.metric("a", "cell_hot_spots_near_total") >= 1
