"""What lies on the brokers, by what it is for: bytes of their logs, and numbers of messages.

Bytes are those that brokers have written: batches as producers sent them, compressed where those compress. What readers
fetch is not in it; most topics have one reader, some of the control topics as many as there are hosts.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from services.lab.dataplane.ground import BenchError
from topics import catalogue
from topics.topic import Topic

TIMEOUT_S = 60.0
_ANTS = (catalogue.ANTS_ROUTING, catalogue.ANTS_SCOUTING, catalogue.ANTS_ENFORCEMENT)
_METRICS = (
    catalogue.METRICS_OPERATORS,
    catalogue.METRICS_HOSTS,
    catalogue.METRICS_LINKS,
    catalogue.METRICS_REJECTED,
    catalogue.MODELS,
)
_DATA = (catalogue.EDGE, catalogue.CHANGELOG, catalogue.SNAPSHOTS, catalogue.DEAD_LETTERS, catalogue.LATE)


class Use(Enum):
    """What a topic is for."""

    USERS = "sources and sinks"
    STATE = "edges, changelogs, snapshots and what is set aside"
    ANTS = "ants"
    METRICS = "metrics and heartbeats"
    LEASES = "leases"
    REGISTRY = "registry"
    KAFKA = "Kafka's own offsets and transactions"


def use_of(topic: str) -> Use:
    """By the catalogue's row for it; what is in none is the users' or Kafka's own."""
    known = catalogue.find(topic)
    if known is None:
        return Use.KAFKA if topic.startswith("__") else Use.USERS
    groups: tuple[tuple[tuple[Topic, ...], Use], ...] = (
        (_ANTS, Use.ANTS),
        (_METRICS, Use.METRICS),
        (_DATA, Use.STATE),
        ((catalogue.LEASES,), Use.LEASES),
    )
    return next((use for members, use in groups if known in members), Use.REGISTRY)


Logs = Mapping[Path, int]
"""File -> its size in bytes."""


def logs_under(folder: Path) -> dict[Path, int]:
    """The log files of all brokers whose data lie in folders of this one."""
    found = {}
    for file in folder.glob("*/data/*/*.log"):
        try:
            found[file] = file.stat().st_size
        except OSError:
            continue  # it was deleted this very moment
    return found


def growth(before: Logs, after: Logs) -> Counter[str]:
    """Bytes written between two looks, by topic. A file that was deleted or made smaller in between counts for
    nothing."""
    written: Counter[str] = Counter()
    for file, size in after.items():
        written[file.parent.name.rpartition("-")[0]] += max(0, size - before.get(file, 0))
    return written


def by_use(written: Mapping[str, int]) -> dict[Use, int]:
    """What was written by topic, summed up by what topics are for."""
    found = dict.fromkeys(Use, 0)
    for topic, size in written.items():
        found[use_of(topic)] += size
    return found


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages ever written to the ants' topics, and to all other control topics together."""

    ants: int
    others: int


def control_messages(client: AdminClient, *, timeout_s: float = TIMEOUT_S, pause_s: float = 0.5) -> Messages:
    """As the brokers count them: offsets, with the markers of transactions.

    Leaders may move meanwhile; what this client knows of them is then older, or newer, than a broker: it asks again.
    """
    until_s = time.monotonic() + timeout_s
    while True:
        try:
            return _counted(client)
        except KafkaException as fault:
            if time.monotonic() > until_s:
                raise BenchError(f"brokers do not tell how much is on the control topics: {fault}") from fault
            time.sleep(pause_s)


def _counted(client: AdminClient) -> Messages:
    wanted = {}
    for name, topic in client.list_topics(timeout=TIMEOUT_S).topics.items():
        if use_of(name) in (Use.ANTS, Use.METRICS, Use.LEASES, Use.REGISTRY):
            for partition in topic.partitions:
                wanted[TopicPartition(name, partition)] = OffsetSpec.latest()
    counts = {Use.ANTS: 0}
    for at, found in client.list_offsets(wanted, request_timeout=TIMEOUT_S).items():
        use = use_of(at.topic)
        counts[use] = counts.get(use, 0) + found.result(TIMEOUT_S).offset
    ants = counts.pop(Use.ANTS)
    return Messages(ants, sum(counts.values()))
