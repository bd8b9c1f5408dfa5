"""Results carry their event times as Kafka timestamps, as far as brokers take them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.host.task_output import AHEAD_MS_MAX, TaskOutputs
from services.operators.batch import Batch
from topics.topic import DAY_MS

NOW_MS = 1_700_000_000_000
YEAR_9999_MS = 253_402_300_799_999


Stamps = Callable[..., list[int]]


@pytest.fixture
def stamps(plan: Any, broker: Any) -> Stamps:
    """What results of these event times are written with, by a host with this clock."""
    made: dict[int, TaskOutputs] = {}

    def written(times: list[int], *, now_ms: int = NOW_MS, partitions: int = 1) -> list[int]:
        outputs = made.setdefault(partitions, TaskOutputs(plan(partitions=partitions), 0, 1, broker, failures=[]))
        broker.writes.clear()
        keys: list[bytes | None] = [str(each).encode() for each in times]
        values = [{"n": each, "user": str(each)} for each in times]
        batch = Batch(values, keys, times, range(len(times)), NOW_MS)

        async def write() -> None:
            await outputs.write_sinks(outputs.encode({"large": batch}, now_ms=now_ms))

        asyncio.run(write())
        return [at_ms for each in broker.writes for at_ms in each.times]

    return written


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_result_of_the_far_future_is_written_with_the_present(stamps: Stamps, partitions: int) -> None:
    """A broker refuses it otherwise, with all that is in its transaction, each time anew."""
    ahead_ms = NOW_MS + AHEAD_MS_MAX
    times = [NOW_MS - DAY_MS, ahead_ms + 1, NOW_MS + 1, YEAR_9999_MS, ahead_ms]
    expected = [NOW_MS - DAY_MS, NOW_MS, NOW_MS + 1, NOW_MS, ahead_ms]
    assert sorted(expected) == sorted(stamps(times, partitions=partitions))


def test_event_times_that_brokers_take_stay(stamps: Stamps) -> None:
    """Also those of years ago: a replay writes what the first run wrote."""
    times = [-1, 0, NOW_MS - 3_650 * DAY_MS, NOW_MS, NOW_MS + AHEAD_MS_MAX]
    assert times == stamps(times)


def test_a_clock_that_jumps_back_makes_no_old_records_of_new_ones(stamps: Stamps) -> None:
    """A host that is a month behind takes the present for the future; by its clock results would be past the retention
    of the sink."""
    assert [NOW_MS] == stamps([NOW_MS])
    assert [NOW_MS + 1, NOW_MS] == stamps([NOW_MS + 1, YEAR_9999_MS], now_ms=NOW_MS - 30 * DAY_MS)
