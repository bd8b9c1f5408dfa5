"""The bookmark of a flow's replays: the number of the first dead letter that was not yet replayed.

It is a landmark among those of the flow's tasks, written in the transaction that sends the records. An offset that is
committed under a group would be forgotten when nobody has replayed anything for some days.
"""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from services.registry.errors import RegistryError
from services.registry.snapshot import POLL_S, TIMEOUT_S, reader, watermarks
from topics.admin import connect
from topics.catalogue import LANDMARKS
from topics.messages import Landmark
from topics.names import dead_letter_topic, landmark_topic

READ_S_MAX = 60.0
"""What lies behind a task's open transaction can be read when that has ended: after seconds at the most."""


def entry(flow: str, number: int, *, now_ms: int) -> tuple[bytes | None, bytes]:
    """Key and value of a bookmark, for the topic of landmarks."""
    landmark = Landmark(
        segment=_name(flow), partition=0, epoch=1, committed_ms=now_ms, offsets={dead_letter_topic(flow): number}
    )
    return LANDMARKS.key_of(landmark), LANDMARKS.codec.encode(landmark, topic=landmark_topic(flow))


def read_bookmark(bootstrap: str, flow: str) -> int:
    """The number of the first letter that was not yet replayed. What was sent is known for certain only to whoever has
    fenced all other replays before."""
    topic, letters = landmark_topic(flow), dead_letter_topic(flow)
    with reader(bootstrap) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        if topic not in known or letters not in known:
            return 0
        found = _last(consumer, topic, _end(bootstrap, topic), f"{_name(flow)}/0".encode())
        _, end = watermarks(consumer, TopicPartition(letters, 0))
    if found is None:
        return 0
    landmark = LANDMARKS.codec.decode(found, topic=topic, partition=0, offset=0)
    number = landmark.offsets.get(letters, 0)
    return number if number <= end else 0  # else the letters' topic was made anew


def _name(flow: str) -> str:
    """No segment has it: theirs end with a number."""
    return f"{flow}.replay"


def _end(bootstrap: str, topic: str) -> int:
    """Where a topic really ends, not where its first open transaction begins."""
    at = TopicPartition(topic, 0)
    client = connect(bootstrap)  # a client that nobody holds takes its questions along
    return int(client.list_offsets({at: OffsetSpec.latest()}, request_timeout=TIMEOUT_S)[at].result().offset)


def _last(consumer: Consumer, topic: str, end: int, key: bytes) -> bytes | None:
    """The last committed value of a key before this offset."""
    found = None
    deadline_s = time.monotonic() + READ_S_MAX
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    while True:
        record = consumer.poll(POLL_S)
        if time.monotonic() > deadline_s:
            raise RegistryError(f"{topic} can't be read to its end: a transaction stays open on it", "try again later")
        if record is None:
            continue
        error = record.error()
        if error is None:
            found = record.value() if record.key() == key else found
        elif error.code() == KafkaError._PARTITION_EOF:  # comes at each open transaction, and at the end
            if (record.offset() or 0) >= end:
                return found
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)
