"""Writing to the registry: messages with their catalogue keys, acknowledged by all replicas before this returns."""

from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from services.registry.errors import RegistryError
from topics.messages import Message as OurMessage
from topics.topic import Topic

TIMEOUT_S = 20.0


def write(bootstrap: str, entries: Sequence[tuple[Topic, OurMessage]]) -> None:
    """Writes them in order. Raises RegistryError unless all of them have arrived."""
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

    try:
        for topic, message in entries:
            value = topic.codec.encode(message, topic=topic.name)
            producer.produce(topic.name, value, topic.key_of(message), partition=0, on_delivery=delivered)
        left = producer.flush(TIMEOUT_S)
    except KafkaException as fault:
        raise RegistryError(f"the registry could not be written: {fault.args[0].str()}") from fault
    if left or faults:
        why = faults[0] if faults else f"no broker answered at {bootstrap}"
        raise RegistryError(f"the registry could not be written: {why}")
