"""Prints what comes out of a topic, as it comes: `python read.py HOST:PORT TOPIC`. Ctrl-C ends it."""

import sys

from confluent_kafka import Consumer

settings = {"bootstrap.servers": sys.argv[1], "group.id": "tutorial", "auto.offset.reset": "earliest"}
# Results of `at_least_once` are there before they are committed; this client would wait for that.
consumer = Consumer({**settings, "isolation.level": "read_uncommitted"})
consumer.subscribe([sys.argv[2]])
try:
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            print(message.value().decode(), flush=True)
except KeyboardInterrupt:
    consumer.close()
