"""A flow in a world: its edges come to be led where it runs, while records flow, and every record is counted once."""

import json
import time
from collections.abc import Callable
from pathlib import Path

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


def until(condition: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {WAIT_S:.0f} s in vain until {what}"
        time.sleep(0.5)


def test_edges_are_led_where_the_flow_runs(tmp_path: Path, redis_url: str) -> None:
    """Kafka puts half of the edge's leaders into the other region, 60 ms away.

    Ants place the flow in the west, where its source and sink are; on a machine so busy that 60 ms are no difference,
    perhaps in the east.
    """
    world = parse_world(WORLD, filename="w", folder=tmp_path)

    def furnish(stack: EmbeddedStack) -> None:
        make_topics(stack.bootstrap)
        furnish_world(stack, world)
        furnish_placement(stack)

    params = StackParams(home=tmp_path, brokers=2, world=world, redis_url=redis_url)
    with EmbeddedStack(params, furnish=furnish) as stack:
        admin = AdminClient({"bootstrap.servers": stack.bootstrap})
        broker_in = {each.rack: each.id for each in admin.describe_cluster(request_timeout=30).result().nodes}
        west = broker_in["west"]
        new = NewTopic("clicks", num_partitions=2, replica_assignment=[[west], [west]])
        admin.create_topics([new])["clicks"].result(timeout=30)
        graph = parse_graph(FLOW)
        entries = submitted(read_registry(stack.bootstrap), graph, FLOW, {}, now_ms=time.time_ns() // 1_000_000)
        write(stack.bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])

        producer = Producer({"bootstrap.servers": stack.bootstrap_from("west")})
        sent = 0

        def leaders() -> dict[int, int]:
            nonlocal sent
            for _ in range(50):
                producer.produce("clicks", key=str(sent), value=json.dumps({"id": sent, "user": f"u{sent % 7}"}))
                sent += 1
            producer.poll(0)
            topics = admin.list_topics(timeout=30).topics
            edges = [topic for name, topic in topics.items() if ".edge." in name]
            return {number: each.leader for edge in edges for number, each in edge.partitions.items()}

        def brokers() -> set[int]:
            """Those near the hosts where the flow runs."""
            hosts = {each.host for each in read_registry(stack.bootstrap).placements.values()}
            return {broker_in[host.split("-")[0]] for host in hosts if host is not None}

        def is_led_at_home() -> bool:
            near, led = brokers(), set(leaders().values())
            return 1 == len(near) and near == led

        until(is_led_at_home, "all edges are led where the flow runs")
        print(f"edges led by {brokers()} after {sent} records")
        for _ in range(4):
            leaders()
        assert 0 == producer.flush(60)
        counted: dict[str, int] = {}
        reader = Consumer({"bootstrap.servers": stack.bootstrap, "group.id": "r", "isolation.level": "read_committed"})
        reader.assign([TopicPartition("counts", number, 0) for number in (0, 1)])

        def total() -> int:
            for record in reader.consume(5_000, timeout=1.0):
                if not record.error():
                    value = json.loads(record.value())
                    counted[value["user"]] = max(counted.get(value["user"], 0), value["n"])
            return sum(counted.values())

        until(lambda: total() >= sent, "every record is counted")
        assert sent == total()
        reader.close()
