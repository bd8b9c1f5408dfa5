"""Sending the records of dead letters to their origin topics again, each once.

All of it is one transaction, together with a bookmark (an offset committed under a group of its own): a replay that is
cut short has sent nothing, and the next one goes on after the letters that were replayed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from services.registry.errors import RegistryError
from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from services.setaside.letters import Letter
from topics.messages import Origin
from topics.names import dead_letter_topic

Headers = list[tuple[str, bytes | None]]
REPLAY_HEADER = "stig-replay-of"
"""Added to a replayed record: the topic/partition/offset that it was first read at."""


@dataclass(frozen=True, slots=True)
class Original:
    """A record to be sent again, to the partition where it came from."""

    number: int
    origin: Origin
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Skipped:
    """A letter whose record is not sent, and why."""

    number: int
    why: str


def bookmark_group(flow: str) -> str:
    """The group whose committed offset is the first letter that was not yet replayed."""
    return f"stig.replay.{flow}"


def read_bookmark(bootstrap: str, flow: str) -> int:
    """The number of the first letter that was not yet replayed."""
    with reader(bootstrap, group=bookmark_group(flow)) as consumer:
        (found,) = consumer.committed([TopicPartition(dead_letter_topic(flow), 0)], timeout=TIMEOUT_S)
        return max(0, found.offset)


def choose(bootstrap: str, letters: Iterable[Letter]) -> Iterator[Original | Skipped]:
    """What is to be sent for each letter. A record that several operators gave up is sent for the first letter only."""
    seen: set[tuple[str, int, int]] = set()
    for each in letters:
        if each.letter is None:
            yield Skipped(each.number, f"unreadable: {each.unreadable}")
            continue
        letter = each.letter
        place = (letter.origin.topic, letter.origin.partition, letter.origin.offset)
        if letter.computed == "several":
            yield Skipped(each.number, "computed from several records: there is no one record to send again")
        elif place in seen:
            yield Skipped(each.number, "its record is already sent for an earlier letter")
        elif letter.cut or letter.computed is not None:
            original = _at_origin(bootstrap, each.number, letter.origin)
            seen.add(place)
            yield original if original is not None else Skipped(each.number, "its record is gone from the origin topic")
        else:
            seen.add(place)
            headers: Headers = [(header.name, header.value) for header in letter.headers]
            yield Original(each.number, letter.origin, letter.key, letter.value, headers)


def send(bootstrap: str, flow: str, originals: Sequence[Original], *, bookmark: int | None) -> None:
    """Sends all or nothing; `bookmark`: the first letter that is not replayed after this, None to leave it."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": bookmark_group(flow), "log_level": 0},
    )
    try:
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        for each in originals:
            where = f"{each.origin.topic}/{each.origin.partition}/{each.origin.offset}".encode()
            headers = [header for header in each.headers if header[0] != REPLAY_HEADER]
            producer.produce(
                each.origin.topic,
                each.value,
                each.key,
                partition=each.origin.partition,
                headers=[*headers, (REPLAY_HEADER, where)],
            )
            producer.poll(0)
        if bookmark is not None:
            with reader(bootstrap, group=bookmark_group(flow)) as consumer:
                positions = [TopicPartition(dead_letter_topic(flow), 0, bookmark)]
                producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
        producer.commit_transaction(TIMEOUT_S)
    except (KafkaException, BufferError) as fault:
        raise RegistryError(
            f"nothing was replayed: {fault}", "try again; a replay is sent whole or not at all"
        ) from fault


def _at_origin(bootstrap: str, number: int, origin: Origin) -> Original | None:
    """The record itself, read where it came from; None if it is no longer there."""
    with reader(bootstrap) as consumer:
        if origin.topic not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return None
        at = TopicPartition(origin.topic, origin.partition)
        record = next(read_to_end(consumer, [at], starts=lambda at: origin.offset), None)
        if record is None or record.offset() != origin.offset:
            return None
        found: Any = record.headers() or ()
        headers: Headers = [(name, value.encode() if isinstance(value, str) else value) for name, value in found]
        return Original(number, origin, record.key(), record.value(), headers)
