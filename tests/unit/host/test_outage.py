"""Right after an outage aiokafka may know no broker, and asserts that it does; that must be waited out, too."""

import asyncio
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError

from services.host.segment import is_passing
from services.host.writer import Writer
from services.registry.fenced import FencedWriter


async def nothing(*_: Any, **__: Any) -> None:
    return


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that could connect, and was told that there are no brokers."""
    monkeypatch.setattr(AIOKafkaClient, "bootstrap", nothing)
    monkeypatch.setattr(AIOKafkaClient, "get_random_node", lambda _: None)
    monkeypatch.setattr(AIOKafkaClient, "close", nothing)


@pytest.mark.parametrize("step", ["connect", "fence"])
def test_a_task_or_standby_waits_it_out(step: str) -> None:
    """A standby whose following ends with an assertion would never be ready, and a task would park."""

    async def story() -> None:
        writer = Writer("127.0.0.1:1", "stig.s.0")
        with pytest.raises(KafkaConnectionError) as caught:
            await (writer.connect(()) if step == "connect" else writer.fence())
        assert is_passing(caught.value)
        await writer.stop()

    asyncio.run(story())


def test_a_placement_instance_waits_it_out() -> None:
    """One that has just won the lease must not end for it."""

    async def story() -> None:
        writer = FencedWriter("127.0.0.1:1", "stig.placement")
        with pytest.raises(KafkaConnectionError):
            await writer.fence()
        await writer.close()

    asyncio.run(story())
