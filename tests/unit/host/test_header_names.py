"""A header whose name is no UTF-8 does not keep anybody from its record, nor from those around it."""

import struct
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from services.host.fetch import _Blocks
from services.host.header_names import KeptRecords

AT = TopicPartition("t", 0)
STRANGE = b"\xff-\xc3\xa4\x80"
"""As long as its stand-in; two bytes of it are a letter, the others nothing."""
STAND_IN = "ABCDE"


def batch(first: int, headers: list[list[tuple[str, bytes | None]]], *, compression: int = 0) -> bytes:
    """A batch as the broker sends it, with strange names of headers in the place of stand-ins."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10_000,
    )
    for n, each in enumerate(headers):
        builder.append(n, 1_000 + n, b"key" if n % 2 else None, b"value %d" % n if n else None, each)
    built = bytearray(builder.build()).replace(STAND_IN.encode(), STRANGE)
    built[:8] = first.to_bytes(8, "big")
    if compression:
        from aiokafka.codec import gzip_encode

        built = built[:61] + gzip_encode(bytes(built[61:]))
        built[21:23] = compression.to_bytes(2, "big")
        built[8:12] = (len(built) - 12).to_bytes(4, "big")
    struct.pack_into(">I", built, 17, calc_crc32c(bytes(built[21:])))
    return bytes(built)


class Assignment:
    active = True
    tps = frozenset({AT})
    has_valid_position = True
    paused = False
    position = 0

    def state_value(self, _partition: TopicPartition) -> "Assignment":
        return self

    def consumed_to(self, offset: int) -> None:
        self.position = offset


def block(raw: bytes) -> list[Any]:
    blocks = _Blocks()
    answer = PartitionRecords(AT, KeptRecords(raw), None, 0, None, None, True, 0)
    blocks[AT] = FetchResult(AT, assignment=Assignment(), partition_records=answer, backoff=0)
    return list(blocks[AT].getall())


@pytest.mark.parametrize("compression", [0, 1], ids=["plain", "gzip"])
def test_a_name_that_is_no_utf8_gets_marks_and_all_else_is_as_it_was(compression: int) -> None:
    """Its partition could not be read any further, for good."""
    fine = batch(0, [[("good", b"1")], []])
    strange = batch(
        2, [[("good", b"1")], [("grün", STAND_IN.encode()), (STAND_IN, None), ("", b"")], []], compression=compression
    )
    records = block(fine + strange + batch(5, [[]]))
    assert list(range(6)) == [record.offset for record in records]
    assert [None, b"value 1", None, b"value 1", b"value 2", None] == [record.value for record in records]
    assert [None, b"key", None, b"key", None, None] == [record.key for record in records]
    assert [1_000, 1_001, 1_000, 1_001, 1_002, 1_000] == [record.timestamp for record in records]
    assert [("grün", STRANGE), ("?-???", None), ("", b"")] == list(records[3].headers)
    assert [("good", b"1")] == list(records[2].headers)
