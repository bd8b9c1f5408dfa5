"""A flow in a world: its edges come to be led where it runs, while records flow, and every record is counted once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.world_file import parse_world
from services.embedded.world_hosts import furnish_world
from services.placement.furnish import furnish_placement
from services.registry.changes import submitted
from services.registry.snapshot import read_registry
from services.registry.write import write
from tests.waiting import until
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

WORLD = b"""
world: two
regions: {east: {hosts: 1}, west: {hosts: 1}}
round_trips_ms: {east: {west: 60}}
"""
FLOW = """
flow: counting
sources:
  clicks: {topic: clicks, at: west, key: id}
operators:
  counts: {op: aggregate, input: clicks, by: [user], emit: {n: count()}}
sinks:
  out: {input: counts, topic: counts, at: west, key: user}
"""
WAIT_S = 240.0
"""On a crowded machine ants may come back too late; then the leader waits, and each time longer, to try again."""


class Clicks:
    """Records of the flow's source, fifty at a time, from a client in the west."""

    def __init__(self, bootstrap: str) -> None:
        self.sent = 0
        self._producer = Producer({"bootstrap.servers": bootstrap})

    def send(self) -> None:
        for _ in range(50):
            value = json.dumps({"id": self.sent, "user": f"u{self.sent % 7}"})
            self._producer.produce("clicks", key=str(self.sent), value=value)
            self.sent += 1
        self._producer.poll(0)

    def have_arrived(self) -> bool:
        return 0 == self._producer.flush(60)


class Counts:
    """What the flow has counted, as a reader of committed records sees it."""

    def __init__(self, bootstrap: str) -> None:
        self._counted: dict[str, int] = {}
        self._reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "r", "isolation.level": "read_committed"})
        self._reader.assign([TopicPartition("counts", number, 0) for number in (0, 1)])

    def total(self) -> int:
        for record in self._reader.consume(5_000, timeout=1.0):
            if not record.error():
                value = json.loads(record.value())
                self._counted[value["user"]] = max(self._counted.get(value["user"], 0), value["n"])
        return sum(self._counted.values())

    def close(self) -> None:
        self._reader.close()


@pytest.fixture
def two_regions(tmp_path: Path, redis_url: str) -> Iterator[EmbeddedStack]:
    """The world, with hosts and a placement instance."""
    world = parse_world(WORLD, filename="w", folder=tmp_path)

    def furnish(stack: EmbeddedStack) -> None:
        make_topics(stack.bootstrap)
        furnish_world(stack, world)
        furnish_placement(stack)

    params = StackParams(home=tmp_path, brokers=2, world=world, redis_url=redis_url)
    with EmbeddedStack(params, furnish=furnish) as stack:
        yield stack


def test_edges_are_led_where_the_flow_runs(two_regions: EmbeddedStack) -> None:
    """Kafka puts half of the edge's leaders into the other region, 60 ms away.

    Ants place the flow in the west, where its source and sink are; on a machine so busy that 60 ms are no difference,
    perhaps in the east.
    """
    bootstrap = two_regions.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    broker_in = {each.rack: each.id for each in admin.describe_cluster(request_timeout=30).result().nodes}
    new = NewTopic("clicks", num_partitions=2, replica_assignment=[[broker_in["west"]]] * 2)
    admin.create_topics([new])["clicks"].result(timeout=30)
    entries = submitted(read_registry(bootstrap), parse_graph(FLOW), FLOW, {}, now_ms=time.time_ns() // 1_000_000)
    write(bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
    clicks = Clicks(two_regions.bootstrap_from("west"))

    def leaders() -> set[int]:
        topics = admin.list_topics(timeout=30).topics
        edges = [topic for name, topic in topics.items() if ".edge." in name]
        return {each.leader for edge in edges for each in edge.partitions.values()}

    def brokers() -> set[int]:
        """Those near the hosts where the flow runs."""
        hosts = {each.host for each in read_registry(bootstrap).placements.values()}
        return {broker_in[host.split("-")[0]] for host in hosts if host is not None}

    def is_led_at_home() -> bool:
        clicks.send()
        near = brokers()
        return 1 == len(near) and near == leaders()

    until(is_led_at_home, "all edges are led where the flow runs", patience_s=WAIT_S, poll_s=0.5)
    print(f"edges led by {brokers()} after {clicks.sent} records")
    for _ in range(4):
        clicks.send()
    assert clicks.have_arrived()
    counts = Counts(bootstrap)
    until(lambda: counts.total() >= clicks.sent, "every record is counted", patience_s=WAIT_S)
    assert clicks.sent == counts.total()
    counts.close()
