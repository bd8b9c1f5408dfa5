"""Blocks on edge topics: whole columns, one call for a thousand records."""

import time
import timeit
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from topics.catalogue import EDGE
from topics.codec import Codec, Format
from topics.errors import MessageError
from topics.messages import Block, BlockHeader

TOPIC = "stig.flow.talk.edge.tcp.TO.traffic.0"


def block(rows: int, **changes: Any) -> Block:
    columns: dict[str, Any] = {
        "keys": [f"10.0.{i % 256}.{i // 256}".encode() for i in range(rows)],
        "times_ms": [1_763_264_627_000 + i for i in range(rows)],
        "offsets": list(range(1_000_000, 1_000_000 + rows)),
        "values": [
            {"src": f"10.0.{i % 256}.{i // 256}", "proto": "tcp", "bytes": 3 * i, "ok": True} for i in range(rows)
        ],
    }
    return Block(
        segment="talk.tcp",
        partition=3,
        epoch=7,
        watermark_ms=-(1 << 62),
        origin_topic="packets",
        origin_partition=3,
        **{**columns, **changes},
    )


def decode(value: bytes) -> Block:
    return EDGE.codec.decode(value, topic=TOPIC, partition=1, offset=2)


@pytest.mark.parametrize("rows", [0, 1, 1_000])
def test_a_block_comes_back_as_it_was(rows: int) -> None:
    """A block without rows is how an idle upstream tells its watermark."""
    assert block(rows) == decode(EDGE.codec.encode(block(rows), topic=TOPIC))


def test_columns_of_different_length_are_refused_on_both_sides() -> None:
    """A row is what stands at the same place in every column; a shifted column would mix up records."""
    with pytest.raises(ValueError, match="must be of one length, not \\[2, 3\\]"):
        block(3, keys=[None, None])
    content = msgspec.msgpack.decode(EDGE.codec.encode(block(3), topic=TOPIC))
    content[7] = content[7][:2]
    with pytest.raises(MessageError, match="must be of one length"):
        decode(msgspec.msgpack.encode(content))


def test_the_header_can_be_read_alone() -> None:
    """Whoever follows watermarks or refuses an old epoch need not pay for the records."""
    headers = Codec(BlockHeader, Format.MSGPACK, EDGE.bytes_max)
    header = headers.decode(EDGE.codec.encode(block(10), topic=TOPIC), topic=TOPIC, partition=1, offset=2)
    assert ("talk.tcp", 3, 7) == (header.segment, header.partition, header.epoch)


def test_a_block_that_is_too_large_is_refused_before_the_broker_sees_it() -> None:
    """The writer can still split it; a broker's refusal would come too late."""
    with pytest.raises(MessageError, match="of at most 2,097,152 bytes; it has 2,"):
        EDGE.codec.encode(block(1, values=[{"blob": "x" * 2_097_152}]), topic=TOPIC)


def test_a_block_costs_little_more_than_its_columns_in_bare_msgspec() -> None:
    """Edges carry every record between segments: the frame around the columns must not be felt."""
    message = block(1_000)
    value = EDGE.codec.encode(message, topic=TOPIC)
    columns = [message.keys, message.times_ms, message.offsets, message.values]
    bare_value = msgspec.msgpack.encode(columns)
    bare_encode, bare_decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode

    assert cost_ratio(lambda: EDGE.codec.encode(message, topic=TOPIC), lambda: bare_encode(columns)) < 1.5
    assert cost_ratio(lambda: decode(value), lambda: bare_decode(bare_value)) < 1.5


def cost_ratio(ours: Callable[[], object], bare: Callable[[], object]) -> float:
    """CPU time of ours over that of the bare call; best of many turns, since other processes share the machine."""
    turns = [[timeit.timeit(call, timer=time.process_time, number=10) for call in (ours, bare)] for _ in range(40)]
    return min(turn[0] for turn in turns) / min(turn[1] for turn in turns)
