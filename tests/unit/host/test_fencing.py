"""Fencing asks again as soon as it may be answered: a moved partition pauses until it is."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.producer import sender as sender_module

from services.host import fencing
from services.host.writer import Writer

EARLY, LOADING, FINE = 51, 14, 0


class Client:
    """A coordinator that gives these error codes, one after the other."""

    _client_id = "test"

    def __init__(self, *codes: int) -> None:
        self.done: list[str] = []
        self._codes = list(codes)

    async def coordinator_lookup(self, *_: Any) -> int:
        return 1

    async def ready(self, *_: Any, **__: Any) -> bool:
        return True

    async def send(self, *_: Any, **__: Any) -> Any:
        self.done.append("ask")
        return SimpleNamespace(error_code=self._codes.pop(0), producer_id=7, producer_epoch=1)

    async def force_metadata_update(self) -> None:
        self.done.append("metadata")


def fenced_by(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made."""
    pauses: list[float] = []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)

    async def story() -> None:
        writer = Writer("127.0.0.1:1", "writer")
        sender = writer._producer._sender
        sender.client = client
        monkeypatch.setattr(sender_module, "asyncio", SimpleNamespace(sleep=sleep))
        await fencing.fence(sender, "writer")
        assert sender._txn_manager.has_pid()
        monkeypatch.undo()
        await writer._producer.stop()

    asyncio.run(story())
    return pauses


def test_it_is_asked_again_at_once_while_the_former_transaction_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it took 20 ms, and a question about all topics, until it was asked again."""
    client = Client(EARLY, EARLY, FINE)
    assert [fencing.AGAIN_S] * 2 == fenced_by(client, monkeypatch)
    assert ["ask"] * 3 == client.done


def test_a_coordinator_that_is_not_ready_is_left_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may have taken over, of which the metadata tell."""
    client = Client(LOADING, FINE)
    assert [0.02] == fenced_by(client, monkeypatch)
    assert ["ask", "metadata", "ask"] == client.done
