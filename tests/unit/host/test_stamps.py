"""Results carry their event times as Kafka timestamps, as far as brokers take them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from services.host.segment_plan import plan_segment
from services.host.task_output import AHEAD_MS_MAX, TaskOutputs
from services.operators.batch import Batch
from topics.flow.file import parse_graph
from topics.topic import DAY_MS

TEXT = """
flow: shop
sources:
  orders: {topic: orders}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results}
"""
NOW_MS = 1_700_000_000_000
YEAR_9999_MS = 253_402_300_799_999


class Broker:
    """Stands for a Writer: keeps the times of what is written."""

    def __init__(self) -> None:
        self.times: list[int] = []

    async def write(self, _topic: str, _partition: int, _keys: Any, _values: Any, times: Sequence[int]) -> None:
        self.times += times


class Sinks:
    """The outputs of a task with one sink of so many partitions."""

    def __init__(self, partitions: int = 1) -> None:
        graph = parse_graph(TEXT)
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": partitions})
        self._broker: Any = Broker()
        self._outputs = TaskOutputs(plan, 0, 1, self._broker, failures=[])

    def stamps(self, times: list[int], *, now_ms: int = NOW_MS) -> list[int]:
        """What results of these event times are written with."""
        self._broker.times.clear()
        keys: list[bytes | None] = [str(each).encode() for each in times]
        batch = Batch([{"n": each} for each in times], keys, times, range(len(times)), NOW_MS)
        asyncio.run(self._outputs.write_sinks(self._outputs.encode({"large": batch}, now_ms=now_ms)))  # type: ignore[arg-type]
        return list(self._broker.times)


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_result_of_the_far_future_is_written_with_the_present(partitions: int) -> None:
    """A broker refuses it otherwise, with all that is in its transaction, each time anew."""
    ahead_ms = NOW_MS + AHEAD_MS_MAX
    times = [NOW_MS - DAY_MS, ahead_ms + 1, NOW_MS + 1, YEAR_9999_MS, ahead_ms]
    expected = [NOW_MS - DAY_MS, NOW_MS, NOW_MS + 1, NOW_MS, ahead_ms]
    assert sorted(expected) == sorted(Sinks(partitions).stamps(times))


def test_event_times_that_brokers_take_stay() -> None:
    """Also those of years ago: a replay writes what the first run wrote."""
    times = [-1, 0, NOW_MS - 3_650 * DAY_MS, NOW_MS, NOW_MS + AHEAD_MS_MAX]
    assert times == Sinks().stamps(times)


def test_a_clock_that_jumps_back_makes_no_old_records_of_new_ones() -> None:
    """A host that is a month behind takes the present for the future; by its clock results would be past the retention
    of the sink."""
    sinks = Sinks()
    assert [NOW_MS] == sinks.stamps([NOW_MS])
    assert [NOW_MS + 1, NOW_MS] == sinks.stamps([NOW_MS + 1, YEAR_9999_MS], now_ms=NOW_MS - 30 * DAY_MS)
