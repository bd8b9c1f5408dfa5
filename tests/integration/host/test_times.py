"""Times that a broker would refuse or forget: neither a record nor a host's clock stops a flow or loses anything."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from services.host.task_context import wall_clock_ms
from tests.chaos.observed import Observer, Row
from topics.names import dead_letter_topic
from topics.topic import DAY_MS, HOUR_MS

STATELESS = """
flow: {flow}
sources:
  packets: {{topic: {source}, event_time: ts}}
operators:
  tcp: {{op: filter, input: packets, where: "proto == 'tcp'"}}
sinks:
  out: {{input: tcp, topic: {sink}}}
"""

COUNTS = """
flow: {flow}
sources:
  packets: {{topic: {source}, event_time: ts, partitions: 2}}
operators:
  counted: {{op: aggregate, input: packets, by: [proto], emit: {{n: count()}}}}
sinks:
  out: {{input: counted, topic: {sink}}}
"""


async def rows(bootstrap: str, topic: str) -> list[Row]:
    return await asyncio.to_thread(Observer(bootstrap).rows, topic)


def test_a_record_of_the_far_future_reaches_a_sink_with_event_times(bench: Callable[..., Any]) -> None:
    """The broker refuses its time: without another one its partition would park and take all that follows with it."""

    async def story() -> None:
        flow = bench(STATELESS, partitions=1)
        now_ms = wall_clock_ms()
        times = [now_ms - 3_650 * DAY_MS, now_ms, now_ms + 2 * HOUR_MS, 253_402_300_799_999]
        await flow.begin()
        await flow.send([{"proto": "tcp", "ts": each} for each in times])
        await flow.until(lambda found: len(found) >= len(times))
        await flow.stop()
        found = await rows(flow.bootstrap, flow.sink)
        assert times[:2] == [row.timestamp for row in found[:2]]
        assert all(now_ms <= row.timestamp < now_ms + HOUR_MS for row in found[2:])

    asyncio.run(story())


def test_a_sink_that_allows_less_is_named(bench: Callable[..., Any]) -> None:
    """Its owner has set the limit, and only they can say what is right."""

    async def story() -> None:
        flow = bench(STATELESS, partitions=1)
        entry = ConfigEntry("message.timestamp.after.max.ms", "1000", incremental_operation=AlterConfigOpType.SET)
        topic = ConfigResource(ConfigResource.Type.TOPIC, flow.sink, incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": flow.bootstrap})
        admin.incremental_alter_configs([topic])[topic].result()
        await flow.begin()
        await flow.send([{"proto": "tcp", "ts": wall_clock_ms() + HOUR_MS // 4}])
        async with asyncio.timeout(60):
            while not (reasons := [reason for _, _, reason in flow.states if reason and "WriteError" in reason]):
                await asyncio.sleep(0.05)
        await flow.stop()
        assert f"refuses a record's time on {flow.sink}: " in reasons[0]

    asyncio.run(story())


@pytest.mark.parametrize("off_ms", [-30 * DAY_MS, 30 * DAY_MS], ids=["behind", "ahead"])
def test_what_a_host_with_a_wrong_clock_writes_is_accepted_and_stays(bench: Callable[..., Any], off_ms: int) -> None:
    """By such a clock edges and dead letters were forgotten at once, or every commit was refused."""

    async def story() -> None:
        flow = bench(COUNTS)
        flow.now_ms = lambda: wall_clock_ms() + off_ms
        begun_ms = wall_clock_ms()
        await flow.begin()
        await flow.send([b"{broken", {"proto": "tcp", "ts": begun_ms}], key=lambda _: b"one partition")
        await flow.until(lambda found: len(found) >= 1)
        await flow.stop()
        (edge,) = flow.plans()[1].inputs
        for topic in (dead_letter_topic(flow.graph.spec.name), edge.topic):
            found = await rows(flow.bootstrap, topic)
            assert found
            assert all(begun_ms <= row.timestamp <= wall_clock_ms() for row in found), topic

    asyncio.run(story())
