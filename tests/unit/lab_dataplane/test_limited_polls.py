"""The host with limited polls must read everything, in order, or the cost of a batch is that of another workload."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords

from services.host import fetch
from services.lab.dataplane.sides.limited_host import limit_polls

AT = TopicPartition("t", 0)


@dataclass(frozen=True)
class Fetched:
    """A record."""

    offset: int


class Batch(list[Fetched]):
    """A broker's batch."""

    is_control_batch = False

    def __init__(self, first: int, last: int) -> None:
        super().__init__(map(Fetched, range(first, last + 1)))
        self.next_offset = last + 1


class Batches:
    """What one fetch brought."""

    def __init__(self, *batches: Batch) -> None:
        self.left = list(batches)

    def has_next(self) -> bool:
        return bool(self.left)

    def next_batch(self) -> Batch:
        return self.left.pop(0)


class Assignment:
    """One that has the partition, from an offset on."""

    active = True
    paused = False

    def __init__(self, position: int) -> None:
        self.position = position

    def state_value(self, _partition: TopicPartition) -> "Assignment":
        return self

    def consumed_to(self, offset: int) -> None:
        self.position = offset


@pytest.fixture(autouse=True)
def two_a_poll(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Polls bring two records of a partition at most."""
    monkeypatch.setattr(fetch, "take_block", fetch.take_block)
    limit_polls(lambda: 2)
    gc.disable()
    yield
    gc.enable()


def answer(*batches: Batch, position: int = 0) -> FetchResult:
    """What one fetch from there brought, as the host's fetcher keeps it."""
    records = PartitionRecords(AT, Batches(*batches), None, position, None, None, False, 0)
    kept = fetch._Blocks()
    kept[AT] = FetchResult(AT, assignment=Assignment(position), partition_records=records, backoff=0)
    return kept[AT]


def polls(fetched: FetchResult) -> list[list[int]]:
    """The offsets that each poll brings, until the fetcher would fetch again."""
    found = []
    while fetched.has_more():
        found.append([record.offset for record in fetched.getall()])
    return found


def test_a_fetch_comes_out_in_order_a_few_records_at_a_time() -> None:
    """Nothing is lost between two polls, nor between two batches."""
    fetched = answer(Batch(0, 2), Batch(3, 6))
    assert [[0, 1], [2, 3], [4, 5], [6]] == polls(fetched)
    assert 7 == fetched._assignment.position


def test_an_even_number_of_records_ends_with_a_poll_of_none() -> None:
    """The last full poll can't know that it is the last."""
    fetched = answer(Batch(0, 3))
    assert [[0, 1], [2, 3], []] == polls(fetched)
    assert 4 == fetched._assignment.position


def test_a_batch_that_begins_before_the_wanted_offset_begins_there() -> None:
    """A broker sends whole batches."""
    assert [[2, 3], [4]] == polls(answer(Batch(0, 4), position=2))


def test_where_others_are_assigned_nothing_comes_any_more() -> None:
    """It is fetched again from where the new task stands; else it would come twice."""
    fetched = answer(Batch(0, 4))
    assert 2 == len(fetched.getall())
    fetched._assignment.active = False
    assert [] == fetched.getall()
    assert not fetched.has_more()


def test_what_was_handed_out_is_freed_without_a_collection() -> None:
    """Hosts collect garbage rarely: with every answer kept, batches cost more from second to second."""
    fetched = answer(Batch(0, 2))
    records = weakref.ref(fetched._partition_records)
    polls(fetched)
    assert records() is None
