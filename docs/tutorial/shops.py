"""Sales of three shops, ten a second, to the topic `sales`: `python shops.py HOST:PORT`. Ctrl-C ends it."""

import json
import random
import sys
import time

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1], "enable.idempotence": True})
try:
    while True:
        shop = random.choice(["north", "south", "harbour"])
        sale = {"shop": shop, "amount": random.randint(1, 50), "ts": int(time.time() * 1000)}
        producer.produce("sales", json.dumps(sale), key=shop)
        producer.poll(0)
        time.sleep(0.1)
except KeyboardInterrupt:
    producer.flush()
