"""A writer's commit: offsets go out beside what else is in the transaction, and only all of it together counts."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import MessageSizeTooLargeError

from services.host.writer import WriteError, Writer

OFFSETS = {TopicPartition("source", 0): (7, "")}


@dataclass
class SlowBroker:
    """A producer's face. Batches are acknowledged when the test says so; all else is answered at once."""

    done: list[str] = field(default_factory=list)
    acknowledged: asyncio.Future[Any] = field(default_factory=asyncio.Future)

    async def begin_transaction(self) -> None:
        self.done.append("begin")

    async def send_batch(self, _batch: object, topic: str, *, partition: int) -> asyncio.Future[Any]:
        self.done.append(f"write {topic}/{partition}")
        return self.acknowledged

    async def send_offsets_to_transaction(self, _offsets: object, group: str) -> None:
        self.done.append(f"offsets of {group}")

    async def commit_transaction(self) -> None:
        self.done.append("commit")


async def committing(broker: SlowBroker) -> "asyncio.Task[dict[str, int]]":
    """A commit that has come as far as it gets by itself."""
    writer = Writer("127.0.0.1:1", "writer")
    broker_made, writer._producer = writer._producer, broker
    broker.create_batch = broker_made.create_batch  # type: ignore[attr-defined]
    assert broker.acknowledged is await writer.write("results", 0, [None], [b"x"], [0])
    task = asyncio.create_task(writer.commit("group", OFFSETS))
    await asyncio.sleep(0.01)
    await broker_made.stop()
    return task


def test_offsets_do_not_wait_for_the_outputs_to_be_acknowledged() -> None:
    """Each of these is a way to another city and back, and records wait for all of them."""

    async def story() -> None:
        broker = SlowBroker()
        commit = await committing(broker)
        assert ["begin", "write results/0", "offsets of group"] == broker.done
        broker.acknowledged.set_result(SimpleNamespace(offset=3))
        assert {"results": 3} == await commit
        assert "commit" == broker.done[-1]

    asyncio.run(story())


def test_nothing_is_committed_if_an_output_is_refused() -> None:
    """Else the offsets would pass a record whose results are lost."""

    async def story() -> None:
        broker = SlowBroker()
        commit = await committing(broker)
        broker.acknowledged.set_exception(MessageSizeTooLargeError())
        with pytest.raises(WriteError, match="too large"):
            await commit
        assert "commit" not in broker.done

    asyncio.run(story())
