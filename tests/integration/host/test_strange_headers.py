"""Records with headers whose names are no UTF-8, on the real broker, which takes them."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.util import calc_crc32c

from topics.names import dead_letter_topic

FLOW = """
flow: {flow}
sources:
  packets: {{topic: {source}}}
operators:
  tcp: {{op: filter, input: packets, where: "proto == 'tcp'"}}
sinks:
  out: {{input: tcp, topic: {sink}}}
"""


class StrangeBatch(BatchBuilder):
    """As a client in C may send it."""

    def _build(self) -> Any:
        if self._buffer is None:
            built = bytearray(super()._build()).replace(b"NAME", b"\xff\xfe\x80!")
            struct.pack_into(">I", built, 17, calc_crc32c(bytes(built[21:])))
            self._buffer = built
        return self._buffer


async def send_strange(bootstrap: str, topic: str) -> None:
    """A good record, a strange one, a strange one that can't be decoded, and a good one."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    batch = StrangeBatch(100_000, 0)
    for n, name in enumerate(("fine", "NAME", "NAME", "fine")):
        value = b'{"proto": "tcp", "n": %d}' % n if n != 2 else b"{"
        batch.append(timestamp=1_700_000_000_000 + n, key=None, value=value, headers=[(name, b"x")])
    batch.close()
    await (await producer.send_batch(batch, topic, partition=0))
    await producer.stop()


def test_a_strange_name_of_a_header_keeps_nobody_from_the_records(bench: Callable[..., Any]) -> None:
    """The partition was parked for good. A dead letter tells the name as far as it can be read."""
    made = bench(FLOW, partitions=1)

    async def story() -> None:
        await made.begin()
        await send_strange(made.bootstrap, made.source)
        await made.send([{"proto": "tcp", "n": 4}])
        rows = await made.until(lambda rows: len(rows) >= 4)
        assert [0, 1, 3, 4] == [value["n"] for _, value in rows]
        ((_, letter),) = await made.read(dead_letter_topic(made.graph.spec.name))
        assert [{"name": "???!", "value": "eA=="}] == letter["headers"]
        await made.stop()

    asyncio.run(story())
