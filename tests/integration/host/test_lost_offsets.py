"""Offsets that Kafka has deleted: what runs keeps its own alive; what has lost them waits for a person."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from services.embedded import EmbeddedStack, StackParams
from services.embedded import kafka as embedded_kafka
from services.host import progress, remembered

RUNNING = """
flow: {flow}
delivery: exactly_once
sources:
  packets: {{topic: {source}, key: src}}
operators:
  {operator}
sinks:
  out: {{input: result, topic: {sink}}}
"""
WITH_STATE = "result: {{op: aggregate, input: packets, by: [src], emit: {{n: count()}}}}"
WITHOUT = 'result: {{op: filter, input: packets, where: "n >= 0"}}'
REKEYED = """counts: {{op: aggregate, input: packets, by: [src], emit: {{n: count()}}}}
  result: {{op: aggregate, input: counts, by: [n], emit: {{m: count()}}}}"""
TIMEOUT_S = 60.0


def flow_text(operator: str) -> str:
    return RUNNING.replace("{operator}", operator)


def values(*numbers: int) -> list[dict[str, Any]]:
    return [{"src": "a", "n": n} for n in numbers]


def offset_of(admin: AdminClient, group: str, topic: str) -> int | None:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    (told,) = admin.list_consumer_group_offsets([asked])[group].result(TIMEOUT_S).topic_partitions
    return told.offset if told.offset >= 0 else None


async def parked(flow: Any) -> str:
    async with asyncio.timeout(TIMEOUT_S):
        while not (told := [reason for _, state, reason in flow.states if state == "parked"]):
            await asyncio.sleep(0.05)
    return str(told[-1])


@pytest.mark.parametrize("operator", [WITH_STATE, WITHOUT], ids=["with state", "without"])
def test_a_task_whose_offsets_are_gone_waits_until_somebody_says_where_to_go_on(
    bench: Callable[..., Any], operator: str
) -> None:
    """It would read its whole source again, and count everything twice."""

    async def story() -> None:
        flow = bench(flow_text(operator), partitions=1)
        (plan,) = flow.plans()
        admin = AdminClient({"bootstrap.servers": flow.bootstrap})
        await flow.begin()
        await flow.send(values(0, 1, 2))
        await flow.until(lambda rows: len(rows) > 0 and rows[-1][1]["n"] == (3 if operator is WITH_STATE else 2))
        await flow.stop()
        before = await flow.read(flow.sink)
        admin.delete_consumer_groups([plan.group])[plan.group].result(TIMEOUT_S)
        await flow.send(values(3))

        flow.states.clear()
        (segment,) = await flow.begin(epoch=2)
        reason = await parked(flow)
        assert before == await flow.read(flow.sink)
        assert f"--group {plan.group} --topic {flow.source}:0 --reset-offsets --to-offset" in reason

        asked = ConsumerGroupTopicPartitions(plan.group, [TopicPartition(flow.source, 0, 3)])
        admin.alter_consumer_group_offsets([asked])[plan.group].result(TIMEOUT_S)
        await segment.own(0, 2)
        rows = await flow.until(lambda rows: len(rows) > len(before))
        await flow.stop()
        assert [4 if operator is WITH_STATE else 3] == [value["n"] for _, value in rows[len(before) :]]

    asyncio.run(story())


def test_a_reader_that_was_parked_for_too_long_does_not_skip_what_its_edge_has_lost(bench: Callable[..., Any]) -> None:
    """It never ran, so it has no offset that would be out of range; it began after the gap, and nobody heard of it."""

    async def story() -> None:
        flow = bench(flow_text(REKEYED), partitions=1)
        counting, reading = (flow.segment(plan) for plan in flow.plans())
        (edge,) = reading.plan.inputs
        admin = AdminClient({"bootstrap.servers": flow.bootstrap})
        await counting.begin()
        await counting.own(0, 1)
        await flow.send(values(*range(5)))
        async with asyncio.timeout(TIMEOUT_S):
            while counting.seats[0].task is None or counting.seats[0].task.commits == 0:
                await asyncio.sleep(0.05)
        kept = TopicPartition(edge.topic, 0, 1)
        admin.delete_records([kept])[kept].result(TIMEOUT_S)

        await reading.begin()
        for partition in range(reading.plan.partitions):
            await reading.own(partition, 1)
        assert f"--topic {edge.topic}:0 --reset-offsets --to-offset 1 " in await parked(flow)

        asked = ConsumerGroupTopicPartitions(reading.plan.group, [kept])
        admin.alter_consumer_group_offsets([asked])[reading.plan.group].result(TIMEOUT_S)
        await reading.own(0, 1)
        async with asyncio.timeout(TIMEOUT_S):
            while reading.seats[0].state != "running":
                await asyncio.sleep(0.05)
        await flow.stop()

    asyncio.run(story())


def test_what_is_too_much_for_an_offset_survives_a_restart(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies on the flow's landmarks, between those of other tasks."""
    monkeypatch.setattr(remembered, "NOTE_LENGTH_MAX", 10)
    timed = flow_text(WITH_STATE.replace("by: [src]", "by: [src], window: {{size: 1s}}")).replace(
        "topic: {source},", "topic: {source}, event_time: n, lateness: 0s, idle: 10m,"
    )

    async def story() -> None:
        flow = bench(timed, partitions=2)
        await flow.begin()
        await flow.send(values(0, 1, 1_500, 1_501))
        await flow.until(lambda rows: len(rows) == 2)  # one of each partition
        await flow.stop()
        segments = await flow.begin(epoch=2)
        async with asyncio.timeout(TIMEOUT_S):
            while not all(seat.task for segment in segments for seat in segment.seats.values()):
                await asyncio.sleep(0.02)
        marks = [
            seat.task._inputs.watermark_ms(name)
            for segment in segments
            for seat in segment.seats.values()
            for name in seat.task._inputs.by_name
        ]
        await flow.stop()
        assert all(mark >= 1_000 for mark in marks), marks

    asyncio.run(story())


def test_a_task_that_runs_keeps_its_offsets_alive(
    bench: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka counts from the last commit, and nothing comes to an idle task that it could commit."""
    monkeypatch.setattr(embedded_kafka, "OFFSETS_RETENTION_MINUTES", 1)
    monkeypatch.setitem(embedded_kafka.FAST_RETURN, "offsets.retention.check.interval.ms", 1_000)
    monkeypatch.setattr(progress, "LANDMARK_EVERY_MS", 5_000)

    async def story(bootstrap: str) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        idle, stopped = (bench(flow_text(WITH_STATE), partitions=1, on=bootstrap) for _ in range(2))
        for flow in (idle, stopped):
            await flow.begin()
            await flow.send(values(0, 1, 2))
            await flow.until(lambda rows: len(rows) > 0 and rows[-1][1]["n"] == 3)
        await stopped.stop()
        async with asyncio.timeout(4 * TIMEOUT_S):
            while offset_of(admin, stopped.plans()[0].group, stopped.source) is not None:
                await asyncio.sleep(0.5)
        assert 3 == offset_of(admin, idle.plans()[0].group, idle.source)
        await idle.stop()

    with EmbeddedStack(StackParams(home=tmp_path / "stack")) as stack:
        asyncio.run(story(stack.bootstrap))
