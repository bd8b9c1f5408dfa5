"""Writing to the registry as the one who may: all instances share one transactional id, so a new one fences the former.

What belongs together is one transaction: a placement and the move that it is part of are both there, or neither.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from services.process.outage import told_as_outage
from services.registry.errors import RegistryError
from topics.errors import MessageError
from topics.messages import Message
from topics.topic import Topic

TRANSACTION_TIMEOUT_MS = 10_000
REQUEST_TIMEOUT_MS = 5_000
CLOSE_TIMEOUT_S = 5.0


class FencedError(RegistryError):
    """A newer writer has taken over, or this one can't go on: it must not write any more."""


class FencedWriter:
    """`fence`, then `write` any number of times, then `close`."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=20,
            linger_ms=0,
        )

    async def fence(self) -> None:
        """From now on no earlier writer can finish anything."""
        with told_as_outage():
            await self._producer.start()

    async def write(self, entries: Sequence[tuple[Topic[Any], Message]]) -> None:
        """All of it, or nothing: then it raises FencedError, and this writer is of no further use."""
        try:
            encoded = [
                (topic.name, topic.codec.encode(message, topic=topic.name), topic.key_of(message))
                for topic, message in entries
            ]
            await self._producer.begin_transaction()
            sent = [await self._producer.send(name, value, key, partition=0) for name, value, key in encoded]
            await asyncio.gather(*sent)
            await self._producer.commit_transaction()
        except MessageError:
            raise
        except (KafkaError, AssertionError) as error:  # a fenced aiokafka producer fails its own assertions
            raise FencedError(
                f"the registry could not be written: {error!r}", "another instance may be active"
            ) from error

    async def close(self) -> None:
        with contextlib.suppress(KafkaError, AssertionError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._producer.stop()
