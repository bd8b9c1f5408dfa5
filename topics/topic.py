"""What a topic is: a row of the catalogue, and the declaration of one topic on a cluster that follows from it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal

from topics import names
from topics.codec import Codec, Format, M

KIB, MIB = 2**10, 2**20
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000

COPIES_MAX = 3
"""Of a partition: with three, one broker may be away and nothing waits."""
PRODUCER_BATCH_BYTES_MAX = MIB + 12
"""Kafka's `max.message.bytes` bounds a producer's whole batch, so no topic allows less than default producers send."""


@dataclass(frozen=True)
class Compacted:
    """The last value of each key is kept for ever."""

    segment_ms: int = HOUR_MS
    """The newest segment is never compacted, so it is closed after this time at the latest."""
    deletes_seen_ms: int = DAY_MS
    """A reader slower than this may miss that a key was deleted."""

    def settings(self) -> dict[str, str]:
        """In Kafka's words."""
        return {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.1",
            "segment.ms": str(self.segment_ms),
            "delete.retention.ms": str(self.deletes_seen_ms),
        }


@dataclass(frozen=True)
class Kept:
    """Everything is kept for this time, or until a partition has this size (-1: no limit).

    Kafka forgets whole files of a partition. `segment_ms` closes them earlier than after a week, where what is kept
    for minutes would otherwise lie there for days.
    """

    for_ms: int
    partition_bytes_max: int = -1
    segment_ms: int | None = None

    def settings(self) -> dict[str, str]:
        """In Kafka's words."""
        return {
            "cleanup.policy": "delete",
            "retention.ms": str(self.for_ms),
            "retention.bytes": str(self.partition_bytes_max),
            **({"segment.ms": str(self.segment_ms)} if self.segment_ms is not None else {}),
        }


@dataclass(frozen=True)
class Topic(Generic[M]):
    """One row of the catalogue. Without `message` and `format` the bytes are the writer's own affair: no codec."""

    name: str
    purpose: str
    key: str | None
    """How the key is made from the message's fields; None: no key, or the writer's own."""
    message: type[M] | None
    retention: Compacted | Kept
    written_by: tuple[str, ...]
    """Folders of `services`, or `users`, for the page of topics (`topics.page`); the lab and tests are not named."""
    read_by: tuple[str, ...]
    format: Format | None = Format.JSON
    partitions: int | None = 1
    """None: as many as the flow needs, told when the topic is declared."""
    bytes_max: int = 64 * KIB
    timestamps: Literal["CreateTime", "LogAppendTime"] = "LogAppendTime"
    """The broker's clock, which retention goes by, or the writer's, which may be wrong (decision 267)."""
    compression: Literal["producer", "gzip"] = "producer"
    """As the producer likes, or always gzip: the one codec that all our clients read without further packages."""
    proofread: bool = True

    @cached_property
    def codec(self) -> Codec[M]:
        """How this topic's values become bytes and back."""
        assert self.message is not None, f"{self.name} holds its writer's own bytes"
        assert self.format is not None, f"{self.name} has a message but no format"
        return Codec(self.message, self.format, self.bytes_max, proofread=self.proofread)

    def key_of(self, message: M) -> bytes | None:
        """The Kafka key under which this message is written."""
        if self.key is None:
            return None
        return self.key.format(**{field: getattr(message, field) for field in message.__struct_fields__}).encode()

    def declare(self, *, partitions: int | None = None, may_grow: bool = False, **parts: str | int) -> "Declaration":
        """This topic with its name's parts filled in, and its partitions where the catalogue leaves them open."""
        count = self.partitions if self.partitions is not None else partitions
        assert count is not None, f"{self.name}: say how many partitions"
        assert partitions in (None, count), f"{self.name} has {count} partitions, not {partitions}"
        return Declaration(topic=self, name=names.fill(self.name, **parts), partitions=count, may_grow=may_grow)


@dataclass(frozen=True)
class Declaration:
    """A topic as it should be on a cluster. `may_grow`: if it has fewer partitions there, it gets the missing ones."""

    topic: Topic[Any]
    name: str
    partitions: int
    may_grow: bool = False

    def settings(self, copies: int) -> dict[str, str]:
        """Every topic setting that we rely on, spelled out, whatever the brokers' defaults are."""
        return {
            **self.topic.retention.settings(),
            "message.timestamp.type": self.topic.timestamps,
            "compression.type": self.topic.compression,
            "max.message.bytes": str(max(PRODUCER_BATCH_BYTES_MAX, self.topic.bytes_max + 64 * KIB)),
            "min.insync.replicas": str(max(1, copies - 1)),
        }


def copies_on(brokers: int, laid_down: int | None) -> int:
    """Copies of each partition: what whoever set the cluster up has laid down for all topics, else up to three."""
    return min(COPIES_MAX if laid_down is None else laid_down, brokers)
