"""Sends packets at an even rate until it is stopped, each with the microsecond at which it was sent in `dport`."""

import sys
import time
from collections.abc import Sequence

from confluent_kafka import Producer

TICK_S = 0.002
UNLIMITED_PER_S = 1_000_000


def run(arguments: Sequence[str]) -> None:
    """Arguments: broker, topic, records a second (0: as many as possible)."""
    bootstrap, topic, rate = arguments
    rate_per_s = int(rate) or UNLIMITED_PER_S
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "queue.buffering.max.messages": 20_000,
        }
    )
    sources = [f"10.0.{number % 10}.{number // 10}" for number in range(1_000)]
    begin_s = time.perf_counter()
    sent = 0
    while True:
        due = int((time.perf_counter() - begin_s) * rate_per_s)
        for number in range(sent, due):
            now_us = time.time_ns() // 1_000
            src = sources[number * 7919 % 1_000]
            value = (
                f'{{"ts":{now_us // 1_000},"src":"{src}","dst":"10.1.0.1","proto":"tcp","bytes":700,'
                f'"sport":40000,"dport":{now_us},"flags":"ACK"}}'
            )
            try:
                producer.produce(topic, value, src)
            except BufferError:  # no faster than the broker takes them
                producer.poll(0.001)
                due = number
                break
        sent = due
        producer.poll(0)
        time.sleep(TICK_S)


if __name__ == "__main__":
    run(sys.argv[1:4])
