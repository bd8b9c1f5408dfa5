"""The stack of the test run, as all integration tests see it."""

from collections.abc import Callable

import redis
from confluent_kafka import Consumer, Producer, TopicPartition


def test_a_record_sent_is_read_back(kafka: str, topic: Callable[..., str]) -> None:
    """The least that a broker must do, with a topic made by the fixture that all others use."""
    name = topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(name, key=b"k", value=b"v", partition=1)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": name})
    consumer.assign([TopicPartition(name, 1, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert (message.key(), message.value()) == (b"k", b"v")


def test_two_topics_of_one_name_differ(topic: Callable[..., str]) -> None:
    """Tests must not see each other's records."""
    assert topic("same") != topic("same")


def test_redis_keeps_what_it_is_told(redis_url: str) -> None:
    """And it keeps an append-only file, which the tests of kill -9 rely on."""
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        client.set("shared-stack:key", "value")
        assert client.get("shared-stack:key") == "value"
        assert client.config_get("appendonly")["appendonly"] == "yes"
