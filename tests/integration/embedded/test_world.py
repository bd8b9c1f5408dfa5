"""A world of three regions on real brokers: as far apart as its file says, for clients and for replication."""

import time
from pathlib import Path

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from services.embedded import EmbeddedStack, StackParams
from services.embedded.links import Gates
from services.embedded.world_check import measure_ways
from services.embedded.world_file import parse_world
from topics.admin import ensure
from topics.catalogue import PLACEMENTS

WORLD = b"""
world: triangle
regions:
  fra: {}
  iad: {}
  edge: {broker: false}
round_trips_ms:
  fra: {iad: 80, edge: 20}
  iad: {edge: 60}
"""
LATE_MS = 40.0
"""What a busy machine may add to the fastest of several."""
WAIT_S = 120.0


def test_round_trips_are_those_of_the_file(tmp_path: Path, redis_url: str) -> None:
    """Through every gate, and for a record from one region by a leader in another to a reader in a third."""
    world = parse_world(WORLD, filename="w", folder=tmp_path)
    params = StackParams(home=tmp_path, brokers=2, world=world, redis_url=redis_url)
    with EmbeddedStack(params) as stack:
        gates = msgspec.json.decode(stack.home.links.read_bytes(), type=Gates)
        measured = {(way.gate.client, way.gate.broker): way for way in measure_ways(gates, questions=15)}
        wanted = {("iad", "fra"): 80, ("edge", "fra"): 20, ("fra", "iad"): 80, ("edge", "iad"): 60}
        assert wanted.keys() == measured.keys()
        for pair, wanted_ms in wanted.items():
            assert wanted_ms - 2 <= measured[pair].least_ms <= wanted_ms + LATE_MS, (pair, measured[pair])

        admin = AdminClient({"bootstrap.servers": stack.bootstrap})
        brokers = {broker.rack: broker.id for broker in admin.describe_cluster(request_timeout=30).result().nodes}
        assert {"fra", "iad"} == brokers.keys()
        # The way of a record: 10 ms from edge to fra, and 40 ms on to a reader in iad that waits for it.
        new = NewTopic("led-by-fra", num_partitions=1, replica_assignment=[[brokers["fra"]]])
        admin.create_topics([new])["led-by-fra"].result(timeout=30)
        hops_within(50 - 2, 50 + LATE_MS, stack, "led-by-fra")
        # Replication: nobody reads a record before the other broker has it, a round trip of 80 ms away.
        new = NewTopic("by-both", num_partitions=1, replica_assignment=[[brokers["fra"], brokers["iad"]]])
        admin.create_topics([new])["by-both"].result(timeout=30)
        hops_within(50 + 80 / 2, 50 + 2 * 80 + LATE_MS, stack, "by-both")
        # Hence ours have as many copies as the file says: one.
        assert () == ensure(admin, [PLACEMENTS.declare()]).differences
        (partition,) = admin.list_topics(timeout=30).topics[PLACEMENTS.name].partitions.values()
        assert 1 == len(partition.replicas)


def hops_within(least_ms: float, most_ms: float, stack: EmbeddedStack, topic: str) -> None:
    """From a sender in edge to a reader in iad: no record is there too early, and twelve go on until one is in time.

    What a busy machine adds differs from record to record; what the world adds is in each of them.
    """
    producer = Producer({"bootstrap.servers": stack.bootstrap_from("edge"), "linger.ms": 0, "acks": 1})
    reader = Consumer(
        {
            "bootstrap.servers": stack.bootstrap_from("iad"),
            "group.id": topic,
            "fetch.wait.max.ms": 2_000,
            "auto.offset.reset": "earliest",
        }
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    taken_ms: list[float] = []
    deadline_s = time.monotonic() + WAIT_S
    while len(taken_ms) < 12 or min(taken_ms) > most_ms:
        assert time.monotonic() < deadline_s, taken_ms
        begin_s = time.perf_counter()
        producer.produce(topic, value=b"")
        producer.flush(30)
        while (message := reader.poll(30)) is None or message.error():
            assert time.perf_counter() - begin_s < 60
        taken_ms.append((time.perf_counter() - begin_s) * 1e3)
        time.sleep(0.2)  # until the reader's next fetch waits at the broker
    reader.close()
    assert least_ms <= min(taken_ms), taken_ms
