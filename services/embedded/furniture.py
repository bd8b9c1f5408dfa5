"""What a newcomer finds in a fresh stack: the topics of the catalogue, and a source topic to send records to."""

from typing import Any

from services.embedded.errors import StackError
from topics.admin import ClusterError, Difference, connect, ensure, verify
from topics.catalogue import RECORD_BYTES_MAX, shared
from topics.topic import DAY_MS, Kept, Topic

DEMO_SOURCE: Topic[Any] = Topic(
    name="demo-packets",
    purpose="records for the demo: send JSON to it with any Kafka client",
    key=None,
    message=None,
    partitions=4,
    retention=Kept(for_ms=7 * DAY_MS, partition_bytes_max=256 << 20),
    written_by=("demo", "users"),
    read_by=("host", "users"),
    bytes_max=RECORD_BYTES_MAX,
    timestamps="CreateTime",
)


def make_topics(bootstrap: str) -> tuple[Difference, ...]:
    """Creates the topics that are missing; gives back how those that were there differ from what they should be."""
    try:
        return ensure(connect(bootstrap), [*shared(), DEMO_SOURCE.declare()]).differences
    except ClusterError as fault:
        raise StackError(f"the topics could not be made: {fault}", "try stigmergy doctor") from fault


def compare_topics(bootstrap: str) -> tuple[Difference, ...]:
    """How the topics on the cluster differ from what they should be; changes nothing."""
    try:
        return verify(connect(bootstrap), [*shared(), DEMO_SOURCE.declare()])
    except ClusterError as fault:
        raise StackError(f"the topics could not be read: {fault}", "is the broker overloaded?") from fault
