"""Leaders move between real brokers under load: each comes to its end, and not one record is lost or doubled."""

import asyncio
import threading
import time
from pathlib import Path

import aiokafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from placement.leading import LeaderMove
from services.embedded import EmbeddedStack, StackParams
from services.host.segment import METADATA_AGE_MS, Segment
from services.host.segment_plan import plan_segment
from services.host.task_context import TaskContext
from services.placement.leadership import BrokerLeadership, LeaderMoved
from topics.flow.file import parse_graph

WAIT_S = 120.0


class Load:
    """Sends numbers to one partition without pause, and stops when it is told to."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.sent = 0
        self._topic = topic
        self._stop = threading.Event()
        self._failed: list[str] = []
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, "metadata.max.age.ms": 1_000}
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._producer.produce(self._topic, value=str(self.sent), partition=0, on_delivery=self._told)
            self.sent += 1
            self._producer.poll(0)
            time.sleep(0.0005)

    def _told(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self._failed.append(str(error))

    def end(self) -> int:
        self._stop.set()
        self._thread.join()
        assert 0 == self._producer.flush(WAIT_S)
        assert [] == self._failed
        return self.sent


def read_all(bootstrap: str, topic: str) -> list[int]:
    """All that the partition holds, from its first offset to its last."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "error"})
    place = TopicPartition(topic, 0, 0)
    first, end = consumer.get_watermark_offsets(place, timeout=WAIT_S)
    assert 0 == first, (first, end)
    consumer.assign([place])
    found: list[int] = []
    deadline_s = time.monotonic() + WAIT_S
    offset = -1
    while offset + 1 < end and time.monotonic() < deadline_s:
        record = consumer.poll(1.0)
        if record is None:
            continue
        assert not record.error(), record.error()
        offset = record.offset()
        found.append(int(record.value()))
    consumer.close()
    return found


def moved(topic: str, before: tuple[int, ...], after: tuple[int, ...]) -> LeaderMove:
    return LeaderMove(topic, 0, before, after, now_ms=50.0, then_ms=10.0)


async def carry_out(bootstrap: str, moves: list[LeaderMove], timeout_s: float = WAIT_S) -> list[LeaderMoved]:
    leadership = BrokerLeadership(bootstrap, move_timeout_s=timeout_s)
    try:
        return await leadership.carry_out(moves)
    finally:
        await leadership.close()


async def how_it_is(bootstrap: str, topic: str) -> tuple[int, tuple[int, ...]]:
    """Not every broker knows of a new topic at once."""
    leadership = BrokerLeadership(bootstrap)
    try:
        async with asyncio.timeout(WAIT_S):
            while (topic, 0) not in (led := await leadership.led(topic)):
                await asyncio.sleep(0.1)
        return led[topic, 0]
    finally:
        await leadership.close()


def test_leaders_move_under_load_and_nothing_is_lost(tmp_path: Path, redis_url: str) -> None:
    """A partition alone is copied to its new broker; one with followers elects another of them."""
    with EmbeddedStack(StackParams(home=tmp_path, brokers=3, redis_url=redis_url)) as stack:
        admin = AdminClient({"bootstrap.servers": stack.bootstrap})
        topics = {"alone": [[1]], "kept": [[1, 2, 3]]}
        for name, replicas in topics.items():
            new = NewTopic(name, num_partitions=1, replica_assignment=replicas)
            admin.create_topics([new])[name].result(timeout=30)

        loads = {name: Load(stack.bootstrap, name) for name in topics}
        for target in (2, 3, 1):
            moves = []
            for name in topics:
                _, replicas = asyncio.run(how_it_is(stack.bootstrap, name))
                after = (target,) if name == "alone" else (target, *(each for each in replicas if each != target))
                moves.append(moved(name, replicas, after))
            ends = asyncio.run(carry_out(stack.bootstrap, moves))
            assert ["", ""] == [end.failure for end in ends], ends
            print(f"to broker {target}: " + ", ".join(f"{end.move.topic} {end.took_s:.2f} s" for end in ends))
            for move in moves:
                until_led(stack.bootstrap, move)
        for name, load in loads.items():
            count = load.end()
            assert list(range(count)) == read_all(stack.bootstrap, name), name

        # A broker that is not there: refused, and the partition stays as it is.
        (end,) = asyncio.run(carry_out(stack.bootstrap, [moved("alone", (1,), (7,))]))
        assert "no such broker is registered" in end.failure
        until_led(stack.bootstrap, moved("alone", (1,), (1,)))


def test_a_segment_that_reads_follows_an_election(tmp_path: Path, redis_url: str) -> None:
    """The former leader still has the records, only later, and answers fetches as a follower: no error tells of it."""
    with EmbeddedStack(StackParams(home=tmp_path, brokers=2, redis_url=redis_url)) as stack:
        admin = AdminClient({"bootstrap.servers": stack.bootstrap})
        new = NewTopic("kept", num_partitions=1, replica_assignment=[[1, 2]])
        admin.create_topics([new])["kept"].result(timeout=30)
        load = Load(stack.bootstrap, "kept")
        asyncio.run(_read_across_an_election(stack.bootstrap, tmp_path))
        load.end()


async def _read_across_an_election(bootstrap: str, folder: Path) -> None:
    text = "flow: f\nsources:\n  s: {topic: kept}\noperators:\n  p: {op: project, input: s, fields: {n: n}}\n"
    graph = parse_graph(text + "sinks:\n  k: {input: p, topic: out}\n")
    plan = plan_segment(graph, graph.segments[0].id, {"kept": 1, "out": 1})
    segment = Segment(plan, TaskContext(bootstrap), data_folder=folder, on_state=lambda *_: None)
    consumer, at = segment._consumer, aiokafka.TopicPartition("kept", 0)
    await consumer.start()
    try:
        consumer.assign([at])
        consumer.seek(at, 0)
        assert await consumer.blocks([at], timeout_ms=int(WAIT_S * 1e3))
        (end,) = await carry_out(bootstrap, [moved("kept", (1, 2), (2, 1))])
        assert "" == end.failure
        async with asyncio.timeout(4 * METADATA_AGE_MS / 1e3):
            while 2 != consumer._client.cluster.leader_for_partition(at):
                await consumer.blocks([at], timeout_ms=100)
    finally:
        await consumer.stop()


def until_led(bootstrap: str, move: LeaderMove) -> None:
    """As it is after the move. A broker that a stall of the machine has just cost its leadership is asked for again."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        leader, replicas = asyncio.run(how_it_is(bootstrap, move.topic))
        if (leader, set(replicas)) == (move.after[0], set(move.after)):
            return
        assert time.monotonic() < deadline_s, (leader, replicas, move)
        asyncio.run(carry_out(bootstrap, [move]))
