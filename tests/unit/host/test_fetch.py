"""Blocks out of aiokafka's answers."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from services.host.fetch import _Blocks

AT = TopicPartition("t", 0)


class Assignment:
    """One that has the partition, and a place to note its position."""

    active = True
    tps = frozenset({AT})

    def state_value(self, _partition: TopicPartition) -> "Assignment":
        return self

    has_valid_position = True
    paused = False
    position = 0

    def consumed_to(self, offset: int) -> None:
        self.position = offset


@pytest.fixture
def rare_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("rare_collection")
def test_nothing_of_an_answer_stays_when_its_block_is_taken() -> None:
    """Hosts collect garbage rarely: what waits for that is memory that grows with the backlog."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10_000,
    )
    for n in range(3):
        builder.append(n, 1_000 + n, b"key", b"value", [])
    records = PartitionRecords(AT, MemoryRecords(bytes(builder.build())), None, 0, None, None, True, 0)
    blocks = _Blocks()
    blocks[AT] = FetchResult(AT, assignment=Assignment(), partition_records=records, backoff=0)
    left = weakref.ref(records)
    del records
    answer = blocks.pop(AT)
    gone = weakref.ref(answer)
    assert [0, 1, 2] == [record.offset for record in answer.getall()]
    del answer
    assert left() is None
    assert gone() is None
