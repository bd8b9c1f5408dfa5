"""Replays of dead letters on the real broker: each record once, whatever was forgotten or failed in between."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from typer.testing import CliRunner

from services.cli.main import app
from services.registry.changes import submitted
from services.registry.snapshot import read_registry, read_to_end, reader
from services.setaside import replay
from services.setaside.bookmark import read_bookmark
from topics import admin, catalogue
from topics.flow.file import parse_graph
from topics.messages import DeadLetter, Header, Origin
from topics.names import dead_letter_topic, landmark_topic

FLOW = """
flow: {flow}
sources:
  orders: {topic: {source}, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: {sink}}
"""
FIRST_MS = 1_700_000_000_000


class Letters:
    """A flow that no host runs, with dead letters that the test writes."""

    def __init__(self, flow: Any, source: str) -> None:
        self.flow, self.source, self.bootstrap = flow.name, source, flow.bootstrap
        admin.ensure(admin.connect(flow.bootstrap), [*catalogue.shared(), *catalogue.of_flow(flow.name)])
        flow.write(*submitted(read_registry(flow.bootstrap), parse_graph(flow.text), flow.text, {}, now_ms=1))

    def write(self, numbers: range, *, value: bytes = b"v") -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})
        topic = dead_letter_topic(self.flow)
        for n in numbers:
            letter = DeadLetter(
                flow=self.flow,
                operator="large",
                origin=Origin(self.source, 0, n),
                error="bad",
                attempts=1,
                failed_ms=1,
                key=f"k{n}".encode(),
                value=value,
                headers=(Header("trace", b"7"),),
                timestamp_ms=FIRST_MS + n,
            )
            key = catalogue.DEAD_LETTERS.key_of(letter)
            producer.produce(topic, catalogue.DEAD_LETTERS.codec.encode(letter, topic=topic), key)
        assert 0 == producer.flush(60)

    def replay(self, *more: str) -> Any:
        command = ["dead-letters", "replay", self.flow, *more, "--bootstrap", self.bootstrap, "--json"]
        return CliRunner().invoke(app, command)

    def replayed(self, *more: str) -> list[int]:
        """The numbers of the letters that a replay sent."""
        done = self.replay(*more)
        assert 0 == done.exit_code, f"{done.output} {done.exception!r}"
        return [each["number"] for each in json.loads(done.stdout)["sent"]]

    def records(self) -> list[Any]:
        with reader(self.bootstrap) as consumer:
            return list(read_to_end(consumer, [TopicPartition(self.source, 0)]))


@pytest.fixture
def letters(stage: Callable, topic: Callable[..., str]) -> Callable[..., Letters]:
    def make(**config: str) -> Letters:
        source = topic("source", config={"retention.ms": "-1", **config})
        return Letters(stage(FLOW.replace("{source}", source), partitions=1), source)

    return make


def test_each_letter_is_replayed_once_in_as_many_transactions_as_it_takes(
    letters: Callable[..., Letters], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its key, headers and time; also if some came since the last time, and all again if a person says so."""
    monkeypatch.setattr(replay, "PORTION_LETTERS_MAX", 10)
    some = letters()
    some.write(range(35))
    assert [] == some.replayed("--dry-run") == some.records()
    assert list(range(35)) == some.replayed()
    some.write(range(35, 38))
    assert [35, 36, 37] == some.replayed()
    assert [] == some.replayed()
    assert [(f"k{n}".encode(), FIRST_MS + n) for n in range(38)] == [
        (record.key(), record.timestamp()[1]) for record in some.records()
    ]
    assert [("trace", b"7"), ("stig-replay-of", f"{some.source}/0/37".encode())] == some.records()[-1].headers()
    assert [4] == some.replayed("4")
    assert 38 == read_bookmark(some.bootstrap, some.flow)
    assert list(range(38)) == some.replayed("--again")
    assert 38 == read_bookmark(some.bootstrap, some.flow)


def test_what_was_replayed_is_known_when_kafka_has_forgotten_all_offsets(letters: Callable[..., Letters]) -> None:
    """It does so after a week in which nobody has committed anything, and replays are rare."""
    some = letters()
    some.write(range(3))
    assert [0, 1, 2] == some.replayed()
    groups = AdminClient({"bootstrap.servers": some.bootstrap})
    with contextlib.suppress(KafkaException):  # there is none: that is as good
        groups.delete_consumer_groups([f"stig.replay.{some.flow}"])[f"stig.replay.{some.flow}"].result(60)
    assert [] == some.replayed()


def test_a_portion_that_the_broker_refuses_is_aborted_at_once_and_the_rest_stays(
    letters: Callable[..., Letters], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open transaction would hold up all who read the source. What went before it has been sent, and stays so."""
    monkeypatch.setattr(replay, "PORTION_LETTERS_MAX", 5)
    some = letters(**{"max.message.bytes": "5000"})
    some.write(range(5))
    some.write(range(5, 6), value=b"x" * 10_000)
    some.write(range(6, 9))
    failed = some.replay()
    assert 1 == failed.exit_code
    assert "letters 5 to 8 were not replayed" in str(failed.exception or failed.output)
    at = TopicPartition(some.source, 0)
    client = AdminClient({"bootstrap.servers": some.bootstrap})
    ends = {
        level: client.list_offsets({at: OffsetSpec.latest()}, isolation_level=level)[at].result(60).offset
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
    }
    assert 1 == len(set(ends.values())), ends
    assert 5 == read_bookmark(some.bootstrap, some.flow)
    assert [6, 7, 8] == some.replayed("6", "7", "8")
    assert {f"k{n}".encode(): 1 for n in range(9) if n != 5} == Counter(record.key() for record in some.records())


def test_a_bookmark_is_found_behind_a_transaction_that_a_host_left_open(letters: Callable[..., Letters]) -> None:
    """Tasks write their landmarks to the same topic, and what lies behind an open transaction can't be read yet."""
    some = letters()
    some.write(range(3))
    task = Producer(
        {"bootstrap.servers": some.bootstrap, "transactional.id": f"task.{some.flow}", "transaction.timeout.ms": 4_000}
    )
    task.init_transactions(60)
    task.begin_transaction()
    task.produce(landmark_topic(some.flow), b"a landmark that is never committed", b"segment/0")
    assert 0 == task.flush(60)
    assert [0, 1, 2] == some.replayed()
    assert [] == some.replayed()
