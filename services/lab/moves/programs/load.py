"""Sends records at an even rate to each of two partitions until it is stopped; first, each key once."""

import sys
import time
from collections.abc import Sequence

from confluent_kafka import Producer

TICK_S = 0.002
PARTITIONS = (0, 1)
STRIDE = 7_919
"""A prime: keys come in an order without pattern, each as often as the others."""


def run(arguments: Sequence[str]) -> None:
    """Arguments: broker, topic, keys of each partition, records a second for each partition."""
    bootstrap, topic, keys, rate = arguments[0], arguments[1], int(arguments[2]), int(arguments[3])
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 100_000,
            "log_level": 0,
        }
    )

    def send(number: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        for partition in PARTITIONS:
            src = b"%d-%08d" % (partition, number * STRIDE % keys)
            while True:
                try:
                    producer.produce(topic, b'{"ts":%d,"src":"%s","bytes":700}' % (now_ms, src), src, partition)
                    break
                except BufferError:
                    producer.poll(0.01)

    for number in range(keys):
        send(number)
        producer.poll(0)
    producer.flush()
    begin_s, sent = time.perf_counter(), 0
    while True:
        due = int((time.perf_counter() - begin_s) * rate)
        for number in range(sent, due):
            send(number)
        sent = due
        producer.poll(0)
        time.sleep(TICK_S)


if __name__ == "__main__":
    run(sys.argv[1:5])
