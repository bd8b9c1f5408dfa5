"""Three brokers, each in a region: one may die, and the cluster goes on."""

import time
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from services.embedded import EmbeddedStack, StackParams
from services.embedded.lifecycle import State

WAIT_S = 180.0


def test_a_cluster_of_three_survives_the_death_of_one(tmp_path: Path, redis_url: str) -> None:
    """Acknowledged records stay readable while one of three is gone, and it comes back by itself."""
    params = StackParams(home=tmp_path, brokers=3, redis_url=redis_url)
    with EmbeddedStack(params) as stack:
        admin = AdminClient({"bootstrap.servers": stack.bootstrap})
        cluster = admin.describe_cluster(request_timeout=30).result()
        assert {"region-1", "region-2", "region-3"} == {broker.rack for broker in cluster.nodes}
        new = NewTopic("durable", num_partitions=3, replication_factor=3, config={"min.insync.replicas": "2"})
        admin.create_topics([new])["durable"].result(timeout=WAIT_S)

        victim = next(record for record in stack.records() if record.name == "broker-2")
        assert victim.pid is not None
        psutil.Process(victim.pid).kill()
        producer = Producer({"bootstrap.servers": stack.bootstrap, "acks": "all"})
        for number in range(300):
            producer.produce("durable", value=str(number), partition=number % 3)
        assert 0 == producer.flush(WAIT_S)
        consumer = Consumer({"bootstrap.servers": stack.bootstrap, "group.id": "reader"})
        consumer.assign([TopicPartition("durable", partition, 0) for partition in range(3)])
        values = {int(message.value() or b"") for message in consumer.consume(300, timeout=WAIT_S)}
        consumer.close()
        assert set(range(300)) == values

        deadline_s = time.monotonic() + WAIT_S
        while True:
            back = next(record for record in stack.records() if record.name == "broker-2")
            if back.restarts == 1 and back.state is State.READY:
                break
            assert time.monotonic() < deadline_s, stack.records()
            time.sleep(0.1)
