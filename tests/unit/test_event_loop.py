"""The event loop of hosts: a connection that is lost is a lost connection, and no fault of the program."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

from services import event_loop


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = AIOKafkaConnection.send
    yield
    AIOKafkaConnection.send = before


async def _cut_off() -> AIOKafkaConnection:
    """A connection whose transport is closed, before its reader has noticed."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    connection = AIOKafkaConnection("127.0.0.1", port)
    connection._reader, connection._writer = await asyncio.open_connection("127.0.0.1", port)
    connection._read_task = asyncio.create_task(asyncio.sleep(0))
    connection._versions = {MetadataRequest.API_KEY: (0, 5)}
    connection._writer.transport.abort()
    server.close()
    await connection._reader.read()  # its end: from now on nothing can be written either
    return connection


def test_what_is_sent_on_a_lost_connection_is_refused_as_such() -> None:
    """uvloop says so by a RuntimeError, which aiokafka waits for nowhere."""

    async def story() -> None:
        connection = await _cut_off()
        with pytest.raises(KafkaConnectionError, match="broken"):
            await connection.send(MetadataRequest(None))
        assert not connection.connected()

    with event_loop.new_runner() as runner:
        runner.run(story())


def test_a_client_goes_on_to_ask_for_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all who ask wait for ever: a task that was fencing when its broker was killed stood still for good."""

    async def story() -> bool:
        client = AIOKafkaClient(bootstrap_servers="127.0.0.1:1", retry_backoff_ms=1)
        connection = await _cut_off()

        async def get(*_: Any, **__: Any) -> AIOKafkaConnection:
            return connection

        monkeypatch.setattr(client, "_get_conn", get)
        monkeypatch.setattr(client.cluster, "brokers", lambda: {connection})
        connection.nodeId = 1
        client._sync_task = asyncio.create_task(client._md_synchronizer())
        try:
            async with asyncio.timeout(20):
                return await client.force_metadata_update()
        finally:
            await client.close()

    with event_loop.new_runner() as runner:
        assert not runner.run(story())
