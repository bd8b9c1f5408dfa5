"""Reading a flow's dead letters. A letter's number is its offset in the dead-letter topic, so it never changes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from topics import catalogue
from topics.errors import MessageError
from topics.messages import DeadLetter
from topics.names import dead_letter_topic


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. `unreadable`: what is wrong with its bytes, when it is not one of ours."""

    number: int
    letter: DeadLetter | None
    unreadable: str | None = None


def read_letters(
    bootstrap: str, flow: str, *, starts: Callable[[TopicPartition], int] | None = None
) -> Iterator[Letter]:
    """All letters of a flow, the oldest first; none for a flow that never had one."""
    topic = dead_letter_topic(flow)
    with reader(bootstrap) as consumer:
        if topic not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return
        for record in read_to_end(consumer, [TopicPartition(topic, 0)], starts=starts):
            number = record.offset() or 0
            try:
                decoded = catalogue.DEAD_LETTERS.codec.decode(record.value(), topic=topic, partition=0, offset=number)
                yield Letter(number, decoded)
            except MessageError as error:
                yield Letter(number, None, error.problem)
