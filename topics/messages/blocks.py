"""Blocks: how records travel on the edge topics between segments.

A block holds the records that one batch of one upstream partition sent to one downstream partition. It is a MessagePack
array: first the header, then one whole column each for keys, times, offsets and values, so that one call encodes or
decodes a thousand records. `BlockHeader` reads the header and skips the columns. New fields go to the end of `Block`.
Why it looks so: docs/decisions/0021-blocks-on-edges.md.
"""

from typing import Any

from topics.messages.base import Count, Message, Name, Positive


class BlockHeader(Message, frozen=True, kw_only=True, array_like=True):
    """Who sent a block, from which input, and how far event time has come there.

    - `segment`, `partition`, `epoch`: the upstream that wrote it; a reader can refuse what an old epoch still sends;
    - `watermark_ms`: no later block of this upstream holds an earlier event time, save late ones;
    - `origin_topic`, `origin_partition`: the input whose records this block was computed from.
    """

    segment: Name
    partition: Count
    epoch: Positive
    watermark_ms: int
    origin_topic: Name
    origin_partition: Count


class Block(BlockHeader, frozen=True, kw_only=True):
    """A header and its records, column by column; row i is (keys[i], times_ms[i], offsets[i], values[i]).

    `keys[i]` is the key as it would be on a Kafka record of its own: the bytes that chose the partition, or None.
    `offsets[i]` is the offset, at the origin, of the record that gave row i; -1 if several did, as in a window.
    A block without rows only tells the watermark.
    """

    keys: list[bytes | None]
    times_ms: list[int]
    offsets: list[int]
    values: list[dict[str, Any]]

    def __post_init__(self) -> None:
        lengths = {len(self.keys), len(self.times_ms), len(self.offsets), len(self.values)}
        if len(lengths) > 1:
            raise ValueError(f"the columns of a block must be of one length, not {sorted(lengths)}")
