"""Committed offsets: an error of the broker is waited out, and never taken for a group that has committed nothing."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError

from services.host.committed import committed_offsets

AT = TopicPartition("t", 0)
LOADING, NOT_COORDINATOR, FORBIDDEN = 14, 16, 30


class Coordinator:
    """Answers as a broker does, one answer after the other."""

    group_id = "stig.some-segment"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.looked_for = 0
        self.lost = 0

    async def ensure_coordinator_known(self) -> None:
        self.looked_for += 1

    def coordinator_dead(self) -> None:
        self.lost += 1

    async def _send_req(self, _request: object) -> Any:
        return self.answers.pop(0)


def answer(*rows: tuple[int, int, str, int], error: int = 0) -> Any:
    """What a broker says of topic t."""
    return SimpleNamespace(error_code=error, topics=[("t", list(rows))] if rows else [])


@pytest.mark.parametrize(("error", "lost"), [(LOADING, 0), (NOT_COORDINATOR, 1)])
def test_a_coordinator_that_is_not_ready_is_waited_for(error: int, lost: int) -> None:
    """It answers for the whole group, without partitions; beginning anew would give all results again."""
    coordinator = Coordinator(answer(error=error), answer((0, 42, "m", 0)))
    assert {AT: (42, "m")} == asyncio.run(committed_offsets(coordinator, [AT]))
    assert (2, lost) == (coordinator.looked_for, coordinator.lost)


def test_the_error_of_a_partition_is_waited_out_too() -> None:
    """Older brokers tell it there."""
    coordinator = Coordinator(answer((0, -1, "", LOADING)), answer((0, 42, "m", 0)))
    assert {AT: (42, "m")} == asyncio.run(committed_offsets(coordinator, [AT]))


def test_a_partition_that_has_none_is_left_out() -> None:
    """Only then does a task begin at the beginning."""
    assert {} == asyncio.run(committed_offsets(Coordinator(answer((0, -1, "", 0))), [AT]))


@pytest.mark.parametrize(
    ("told", "kind"), [(answer(error=FORBIDDEN), GroupAuthorizationFailedError), (answer(), KafkaError)]
)
def test_what_cannot_be_waited_out_is_raised(told: Any, kind: type[Exception]) -> None:
    """An answer that leaves a partition out says nothing of it."""
    with pytest.raises(kind):
        asyncio.run(committed_offsets(Coordinator(told), [AT]))
