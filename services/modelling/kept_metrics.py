"""Which metrics are kept: when the next ones were appended after a time, without reading all of them."""

import time

from confluent_kafka import Consumer, KafkaError, TopicPartition

from services.modelling.spark_sums import TOPICS
from services.registry.errors import RegistryError
from services.registry.snapshot import POLL_S, TIMEOUT_S, reader


def next_appended_ms(bootstrap: str, after_ms: int) -> int | None:
    """When the first metrics at or after this time were appended; None: there are none, or not even their topics."""
    with reader(bootstrap) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        partitions = [(name, number) for name in TOPICS if name in known for number in known[name].partitions]
        asked = [TopicPartition(name, number, after_ms) for name, number in partitions]
        found = consumer.offsets_for_times(asked, timeout=TIMEOUT_S) if asked else []
        return _first_ms(consumer, [at for at in found if at.offset >= 0])


def _first_ms(consumer: Consumer, places: list[TopicPartition]) -> int | None:
    """The earliest of the records at these places."""
    consumer.assign(places)
    missing = {(at.topic, at.partition) for at in places}
    times_ms = []
    deadline_s = time.monotonic() + TIMEOUT_S
    while missing:
        if time.monotonic() > deadline_s:
            raise RegistryError(f"{len(missing)} partitions of the metrics can't be read in {TIMEOUT_S:.0f} s")
        record = consumer.poll(POLL_S)
        if record is None:
            continue
        place, error = (str(record.topic()), record.partition() or 0), record.error()
        if place in missing and (error is None or error.code() == KafkaError._PARTITION_EOF):
            missing.discard(place)
            times_ms += [record.timestamp()[1]] if error is None else []
    return min(times_ms, default=None)
