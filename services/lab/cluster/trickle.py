"""A few records a second for flows of the bench, from a thread of their own."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer

Entry = tuple[bytes, bytes]
"""A record's key and value."""


@contextmanager
def trickle(
    bootstrap: str, topics: Sequence[str], entry: Callable[[int], Entry], *, every_s: float, linger_ms: int = 0
) -> Iterator[None]:
    """As long as this lasts: one record to each topic every so often, the next number's each time."""
    stop = threading.Event()

    def send() -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": linger_ms, "log_level": 0})
        number = 0
        while not stop.wait(every_s):
            key, value = entry(number)
            for topic in topics:
                producer.produce(topic, value, key)
            producer.poll(0)
            number += 1
        producer.flush(5)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        yield
    finally:
        stop.set()
        sender.join()
