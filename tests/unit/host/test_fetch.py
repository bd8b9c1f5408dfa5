"""Blocks out of aiokafka's answers."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from services.host.fetch import RECORD_BYTES, WEIGHED_MAX, UnreadableError, _Blocks, values_bytes
from services.host.header_names import KeptRecords

AT = TopicPartition("t", 0)
GZIP = 1


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


def batch(first: int, last: int, *, compression: int = 0, value: bytes | None = b"value") -> bytes:
    """A batch as the broker sends it, with these offsets."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10_000_000,
    )
    for offset in range(last - first + 1):
        builder.append(offset, 1_000 + offset, b"key", value, [])
    built = bytearray(builder.build())
    built[:8] = first.to_bytes(8, "big")
    return bytes(built)


def put(blocks: _Blocks, data: bytes) -> PartitionRecords:
    """An answer with this data, as the fetcher puts it there."""
    records = PartitionRecords(AT, KeptRecords(data), None, 0, None, None, True, 0)
    blocks[AT] = FetchResult(AT, assignment=Assignment(), partition_records=records, backoff=0)
    return records


def test_a_damaged_batch_is_never_skipped() -> None:
    """Nothing that comes with it is taken either: all of it is fetched again, from where the position still is."""
    blocks = _Blocks()
    damaged = bytearray(batch(0, 2))
    damaged[-1] ^= 1
    put(blocks, bytes(damaged) + batch(3, 5))
    with pytest.raises(UnreadableError, match="offset 0 on") as caught:
        blocks[AT].getall()
    assert AT == caught.value.at
    assert [] == blocks[AT].getall()
    assert not blocks[AT].has_more()
    assert 0 == blocks[AT]._assignment.position


def test_a_block_is_as_large_as_what_was_compressed() -> None:
    """A megabyte of an answer may be a hundred in memory, and what is fetched ahead is bounded by what it takes."""
    blocks = _Blocks()
    packed = batch(0, 99, compression=GZIP, value=b"x" * 1_000)
    put(blocks, packed)
    assert len(packed) < 2_000
    assert 100 * (1_000 + RECORD_BYTES) == blocks[AT].getall().size_bytes


def test_a_large_block_is_weighed_by_a_sample() -> None:
    """It costs the same for any number of records, and must be about right also where their sizes differ."""
    blocks = _Blocks()
    put(blocks, b"".join(batch(n, n, compression=GZIP, value=b"x" * (n % 300)) for n in range(2 * WEIGHED_MAX + 1)))
    block = blocks[AT].getall()
    expected = sum(len(record.value) + RECORD_BYTES for record in block)
    assert expected == pytest.approx(block.size_bytes, rel=0.1)


def test_what_comes_uncompressed_is_as_large_as_the_answer() -> None:
    """To look at every record would cost, and tells nothing new."""
    blocks = _Blocks()
    plain = batch(0, 99, value=b"x" * 1_000)
    put(blocks, plain)
    assert len(plain) + 100 * RECORD_BYTES == blocks[AT].getall().size_bytes


def test_tombstones_weigh_nothing() -> None:
    """Their values are None, which has no length."""
    assert 3 == values_bytes([b"a", None, b"bc"])
    blocks = _Blocks()
    put(blocks, batch(0, 1, compression=GZIP, value=None))
    assert 2 * RECORD_BYTES == blocks[AT].getall().size_bytes


@pytest.mark.usefixtures("rare_collection")
def test_nothing_of_an_answer_stays_when_its_block_is_taken() -> None:
    """Hosts collect garbage rarely: what waits for that is memory that grows with the backlog."""
    blocks = _Blocks()
    records = put(blocks, batch(0, 2))
    left = weakref.ref(records)
    del records
    answer = blocks.pop(AT)
    gone = weakref.ref(answer)
    assert [0, 1, 2] == [record.offset for record in answer.getall()]
    del answer
    assert left() is None
    assert gone() is None
