"""Topics on a real broker: created once, compared exactly, and able to carry what the catalogue promises."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from topics.admin import ClusterError, Difference, connect, ensure, verify
from topics.catalogue import CHANGELOG, DEAD_LETTERS, EDGE, METRICS_HOSTS, RECORD_BYTES_MAX, of_flow, shared
from topics.errors import MessageError
from topics.messages import Block, DeadLetter, HostMetrics, Moments, Origin
from topics.topic import Declaration

pytestmark = pytest.mark.integration

HOUR_MS = 3_600_000
PATIENCE_S = 60.0


@pytest.fixture
def admin(kafka: str) -> AdminClient:
    return connect(kafka)


@pytest.fixture
def flow() -> str:
    """A flow name that no other test uses."""
    return f"flow-{uuid.uuid4().hex[:12]}"


def topics_of(flow: str) -> list[Declaration]:
    return [
        *of_flow(flow),
        EDGE.declare(flow=flow, stream="tcp", target="traffic", port=0, partitions=3),
        CHANGELOG.declare(flow=flow, operator="traffic", partitions=3),
    ]


def send(kafka: str, topic: str, value: bytes, **fields: Any) -> int:
    """The offset that the broker gave it."""
    producer = Producer({"bootstrap.servers": kafka, "message.max.bytes": 4_000_000})
    told: list[tuple[Any, Message]] = []
    producer.produce(topic, value, on_delivery=lambda *answer: told.append(answer), **fields)
    assert producer.flush(PATIENCE_S) == 0
    ((error, message),) = told
    assert error is None
    return int(message.offset() or 0)


def receive(kafka: str, topic: str, partition: int = 0, offset: int = 0) -> Message:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, offset)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None
        return message
    finally:
        consumer.close()


def test_missing_topics_are_created_as_declared_and_only_once(admin: AdminClient, flow: str) -> None:
    """Every service calls this at its start; the second start must change nothing."""
    declared = topics_of(flow)
    first = ensure(admin, declared)
    assert tuple(sorted(topic.name for topic in declared)) == first.created
    assert () == first.differences
    again = ensure(admin, declared)
    assert ((), ()) == (again.created, again.differences)


def test_the_shared_topics_exist_as_declared(admin: AdminClient) -> None:
    """What every cluster has before any flow is there. Another test may have made them, but never otherwise."""
    assert () == ensure(admin, shared()).differences
    assert () == verify(admin, shared())


def test_creators_at_the_same_time_do_not_disturb_each_other(kafka: str, flow: str) -> None:
    """All hosts of a cluster may start in the same second."""
    declared = topics_of(flow)
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: ensure(connect(kafka), declared), range(6)))
    created = sorted(name for outcome in outcomes for name in outcome.created)
    assert sorted(topic.name for topic in declared) == created
    assert [()] * 6 == [outcome.differences for outcome in outcomes]


def test_a_topic_with_other_settings_is_reported_and_left_alone(admin: AdminClient, flow: str) -> None:
    """A dead-letter topic that keeps its records for a minute loses them; nobody may use it unknowingly."""
    declared = DEAD_LETTERS.declare(flow=flow)
    settings = declared.settings(copies=1)
    wrong = {
        **settings,
        "retention.ms": "60000",
        "cleanup.policy": "compact",
        "message.timestamp.type": "CreateTime",
    }
    wrong["max.message.bytes"] = "1000"
    admin.create_topics([NewTopic(declared.name, 2, 1, config=wrong)])[declared.name].result()
    expected = {
        Difference(declared.name, "partitions", "1", "2"),
        Difference(declared.name, "cleanup.policy", "delete", "compact"),
        Difference(declared.name, "retention.ms", "2592000000", "60000"),
        Difference(declared.name, "message.timestamp.type", "LogAppendTime", "CreateTime"),
        Difference(declared.name, "max.message.bytes", settings["max.message.bytes"], "1000"),
    }
    for _ in range(2):
        outcome = ensure(admin, [declared])
        assert () == outcome.created
        assert expected == set(outcome.differences)


def test_only_a_topic_that_may_grow_gets_the_partitions_that_it_lacks(
    kafka: str, admin: AdminClient, flow: str
) -> None:
    """It follows a source that has grown; all hosts of the flow see to it at once. Keys of others would move."""

    def declared(partitions: int) -> list[Declaration]:
        edge = EDGE.declare(flow=flow, stream="tcp", target="traffic", port=0, partitions=partitions)
        return [edge, CHANGELOG.declare(flow=flow, operator="traffic", partitions=partitions, may_grow=True)]

    edge, changelog = declared(3)
    ensure(admin, [edge, changelog])
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: ensure(connect(kafka), declared(5)), range(6)))
    assert [(Difference(edge.name, "partitions", "5", "3"),)] * 6 == [each.differences for each in outcomes]
    assert 0 == send(kafka, changelog.name, b"x", key=b"k", partition=4), "it can be used at once"
    assert Difference(changelog.name, "partitions", "3", "5") in ensure(admin, [changelog]).differences, "never fewer"


def test_verify_reports_a_missing_topic_and_does_not_create_it(admin: AdminClient, flow: str) -> None:
    """`stigmergy doctor` looks and does not touch."""
    declared = DEAD_LETTERS.declare(flow=flow)
    assert (Difference(declared.name, "topic", "present", None),) == verify(admin, [declared])
    assert (Difference(declared.name, "topic", "present", None),) == verify(admin, [declared])


def test_a_topic_that_the_cluster_refuses_is_an_error_that_names_it(admin: AdminClient, flow: str) -> None:
    """Kafka takes '.' and '_' for the same in its metrics and refuses two topics that differ only there."""
    twin = DEAD_LETTERS.declare(flow=flow).name.replace("stig.flow.", "stig_flow_")
    admin.create_topics([NewTopic(twin, 1, 1)])[twin].result()
    with pytest.raises(ClusterError, match=rf"refused to create topic stig\.flow\.{flow}\.dead-letters: .*collides"):
        ensure(admin, [DEAD_LETTERS.declare(flow=flow)])


def test_no_broker_is_an_error_in_time() -> None:
    """A service that cannot reach Kafka says so within its time-out instead of hanging."""
    started_s = time.monotonic()
    with pytest.raises(ClusterError, match="no broker answered"):
        ensure(connect("127.0.0.1:1"), shared(), timeout_s=1.0)
    assert time.monotonic() - started_s < PATIENCE_S


def test_the_largest_dead_letter_passes_through_the_broker(kafka: str, admin: AdminClient, flow: str) -> None:
    """The topic's own size limit must leave room for what the codec allows."""
    declared = DEAD_LETTERS.declare(flow=flow)
    ensure(admin, [declared])
    letter = DeadLetter(
        flow=flow,
        operator="tcp",
        origin=Origin(topic="packets", partition=0, offset=1),
        error="not JSON",
        attempts=3,
        failed_ms=1,
        key=None,
        value=bytes(RECORD_BYTES_MAX),
    )
    value = DEAD_LETTERS.codec.encode(letter, topic=declared.name)
    send(kafka, declared.name, value, key=DEAD_LETTERS.key_of(letter))
    message = receive(kafka, declared.name)
    assert b"packets/0/1" == message.key()
    assert letter == DEAD_LETTERS.codec.decode(message.value(), topic=declared.name, partition=0, offset=0)


def test_the_typed_error_names_the_record_on_the_broker(kafka: str, admin: AdminClient, flow: str) -> None:
    """With topic, partition and offset a person can look at the bytes with any Kafka tool."""
    declared = EDGE.declare(flow=flow, stream="tcp", target="traffic", port=0, partitions=3)
    ensure(admin, [declared])
    block = Block(
        segment="s",
        partition=0,
        epoch=1,
        watermark_ms=0,
        origin_topic="t",
        origin_partition=0,
        keys=[],
        times_ms=[],
        offsets=[],
        values=[],
    )
    send(kafka, declared.name, EDGE.codec.encode(block, topic=declared.name), partition=2)
    send(kafka, declared.name, b"\x93\x02what is this", partition=2)
    message = receive(kafka, declared.name, partition=2, offset=1)
    with pytest.raises(MessageError) as caught:
        EDGE.codec.decode(
            message.value(), topic=message.topic(), partition=message.partition(), offset=message.offset()
        )
    assert (declared.name, 2, 1) == (caught.value.topic, caught.value.partition, caught.value.offset)


def test_metrics_carry_the_brokers_time_whatever_the_host_says(kafka: str, admin: AdminClient) -> None:
    """A host whose clock is an hour ahead must not move the models' watermark."""
    ensure(admin, shared())
    metrics = HostMetrics(
        host="clock-ahead",
        boot_id="b",
        second=1,
        cpu=0.1,
        memory_bytes=1,
        capacity=1.0,
        operators=0,
        loop_delay_ms=Moments(0, 0.0, 0.0),
        loop_delay_ms_max=0.0,
        clock_offset_ms=-float(HOUR_MS),
    )
    value = METRICS_HOSTS.codec.encode(metrics, topic=METRICS_HOSTS.name)
    now_ms = int(time.time() * 1_000)
    sent = send(
        kafka, METRICS_HOSTS.name, value, key=METRICS_HOSTS.key_of(metrics), partition=0, timestamp=now_ms + HOUR_MS
    )
    kind, appended_ms = receive(kafka, METRICS_HOSTS.name, offset=sent).timestamp()
    assert TIMESTAMP_LOG_APPEND_TIME == kind
    assert abs(appended_ms - now_ms) < HOUR_MS / 2
