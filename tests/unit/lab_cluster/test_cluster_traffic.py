"""What the bench of a cluster makes of log files and of processor times."""

import asyncio
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from services.lab.cluster.broker_bytes import Use, by_use, control_messages, growth, logs_under, use_of
from services.lab.cluster.programs.metered_host import IS_CELL, Meter, Metered
from services.lab.cluster.traffic import Cost, Through, cost_of, rows, sent_between
from services.lab.dataplane.ground import BenchError
from topics import catalogue


def test_every_topic_has_one_use() -> None:
    """Ants apart from other control, control apart from data."""
    assert Use.ANTS is use_of(catalogue.ANTS_SCOUTING.name)
    assert Use.METRICS is use_of(catalogue.METRICS_HOSTS.name)
    assert Use.LEASES is use_of(catalogue.LEASES.name)
    assert Use.REGISTRY is use_of(catalogue.DECISIONS.name)
    assert Use.STATE is use_of(catalogue.CHANGELOG.name.format(flow="f", operator="o"))
    assert Use.USERS is use_of("packets")
    assert Use.KAFKA is use_of("__transaction_state")


def test_growth_is_what_was_written_in_between(tmp_path: Path) -> None:
    """Of all brokers; a log that was cut off or deleted meanwhile gives nothing back."""

    def log(broker: str, partition: str, size: int) -> Path:
        file = tmp_path / broker / "data" / partition / "00000000000000000000.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
        return file

    gone = log("broker-1", "packets-0", 50)
    log("broker-1", "stig.ants.routing-3", 10)
    log("broker-1", "stig.hosts-0", 40)
    before = logs_under(tmp_path)
    gone.unlink()
    log("broker-1", "stig.ants.routing-3", 30)
    log("broker-2", "stig.ants.routing-11", 5)
    log("broker-1", "stig.hosts-0", 20)
    log("broker-2", "my-topic-1", 75)
    written = growth(before, logs_under(tmp_path))
    assert {"stig.ants.routing": 25, "my-topic": 75} == {topic: size for topic, size in written.items() if size}
    assert {Use.ANTS: 25, Use.USERS: 75} == {use: size for use, size in by_use(written).items() if size}


def test_a_cell_bears_its_part_of_what_the_loop_takes() -> None:
    """A quarter of all tasks' time was its own, so it bears a quarter of the process's."""
    before = {"at_s": 100.0, "cell_s": 1.0, "tasks_s": 2.0, "process_s": 10.0}
    after = {"at_s": 110.0, "cell_s": 2.0, "tasks_s": 6.0, "process_s": 16.0}
    cost = cost_of(before, after)
    assert pytest.approx((0.1, 0.15, 0.6)) == (cost.tasks, cost.cell, cost.host)


def test_rows_tell_shares_of_all_bytes() -> None:
    """And what a cell takes, of the median and of the busiest host."""
    sizes = {
        "stig.ants.routing": 1,
        "stig.ants.scouting": 4,
        "clicks": 900,
        "stig.edge.f.o": 60,
        "stig.metrics.hosts": 35,
    }
    looks = [
        {Path(f"/broker-1/data/{topic}-0/0.log"): size * scale // 4 for topic, size in sizes.items()}
        for scale in (0, 3, 4)
    ]
    costs = [Cost(0.01, 0.02, 0.1), Cost(0.02, 0.04, 0.2), Cost(0.01, 0.03, 0.1)]
    kinds = sent_between([{"sent": {"scent": 3}}, {"sent": {}}], [{"sent": {"scent": 13}}, {"sent": {"probe": 20}}])
    made = [*rows(looks, costs, took_s=10.0, ants=50, kinds=kinds), *Through(110.0, 100.0, 0.5).rows()]
    found = {row.measure: row.value for row in made}
    assert (1.0, 2.0) == (found["sent by cells: scent"], found["sent by cells: probe"])
    assert 0.005 == found["share of the bytes written on brokers: ants"]
    assert pytest.approx(5 / 960) == found["ants' bytes over those of the data"]
    shares = [found[f"share of the bytes written on brokers: ants, part {part} of 2"] for part in (1, 2)]
    assert [pytest.approx(3 / 747, rel=0.01), pytest.approx(2 / 253, rel=0.01)] == shares
    assert 0.4 == found["bytes written on brokers: stig.ants.scouting"]
    assert (110.0, 100.0, 5.0) == (found["records sent"], found["results"], found["messages on the ants' topics"])
    assert (0.03, 0.04) == (
        found["processor time of a cell, median of hosts"],
        found["processor time of a cell, busiest host"],
    )


def test_tasks_of_the_cell_are_metered_with_all_that_they_start() -> None:
    """The cell's Kafka clients work in tasks of their own, which nobody marks."""

    def work() -> None:
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass

    async def child() -> None:
        await asyncio.sleep(0)
        work()

    async def cell() -> None:
        IS_CELL.set(True)
        await asyncio.create_task(child())

    async def both() -> None:
        await asyncio.gather(asyncio.create_task(cell()), asyncio.create_task(child()))

    meter = Meter()
    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(
            lambda loop, coro, **more: asyncio.Task(Metered(coro, meter), loop=loop, **more)
        )
        runner.run(both())
    assert 0.02 <= meter.cell_s < meter.tasks_s
    assert 0.04 <= meter.tasks_s


class MovingLeaders:
    """Brokers one of which has just become the leader of a partition: the first question names an epoch too new."""

    def __init__(self, *, fails: int) -> None:
        self.fails = fails

    def list_topics(self, **_: float) -> SimpleNamespace:
        return SimpleNamespace(topics={catalogue.ANTS_ROUTING.name: SimpleNamespace(partitions=[0])})

    def list_offsets(self, wanted: dict[TopicPartition, object], **_: float) -> dict[TopicPartition, Future[Any]]:
        self.fails -= 1
        answer: Future[Any] = Future()
        if self.fails >= 0:
            answer.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_LEADER_EPOCH)))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(wanted, answer)


def test_messages_are_counted_while_leaders_move() -> None:
    """Two minutes of traffic were lost because a leader had moved in the second before."""
    client: Any = MovingLeaders(fails=2)
    assert 7 == control_messages(client, pause_s=0.0).ants


def test_who_can_not_count_messages_says_so() -> None:
    """In words, not by a traceback."""
    client: Any = MovingLeaders(fails=100)
    with pytest.raises(BenchError, match="brokers do not tell"):
        control_messages(client, timeout_s=0.0, pause_s=0.0)
