"""Writing to the registry: messages with their catalogue keys, acknowledged by all replicas before this returns."""

from collections.abc import Sequence
from itertools import groupby

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from services.registry.errors import RegistryError
from topics.messages import Message as OurMessage
from topics.topic import Topic

TIMEOUT_S = 20.0


def write(bootstrap: str, entries: Sequence[tuple[Topic, OurMessage]]) -> None:
    """Writes them in order: what one topic gets has arrived before the next one gets anything.

    Raises RegistryError unless all of them have arrived.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "delivery.timeout.ms": int(TIMEOUT_S * 1_000),
            "log_level": 0,
        }
    )
    faults: list[str] = []

    def delivered(error: KafkaError | None, record: Message) -> None:
        if error is not None:
            faults.append(f"{record.topic()}: {error.str()}")

    left = 0
    try:
        for topic, group in groupby(entries, key=lambda entry: entry[0]):
            for _, message in group:
                value = topic.codec.encode(message, topic=topic.name)
                producer.produce(topic.name, value, topic.key_of(message), partition=0, on_delivery=delivered)
            left = producer.flush(TIMEOUT_S)
            if left or faults:
                break
    except KafkaException as fault:
        raise RegistryError(f"the registry could not be written: {fault.args[0].str()}") from fault
    if left or faults:
        why = faults[0] if faults else f"no broker answered at {bootstrap}"
        raise RegistryError(f"the registry could not be written: {why}")
