"""The event loop of hosts and placement instances: uvloop, and a Kafka client that knows its ways.

A transport of asyncio that has lost its connection takes what is written to it and drops it; one of uvloop raises a
RuntimeError. aiokafka expects neither that nor anything but an OSError. Where the error met the task that keeps a
client's metadata up to date, that task was gone without a word, and whoever asked for metadata later waited for ever.
"""

import asyncio
from typing import Any

import uvloop
from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import KafkaConnectionError

_send = AIOKafkaConnection.send


def new_runner() -> asyncio.Runner:
    """Runs a process's main coroutine."""
    AIOKafkaConnection.send = send
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def send(connection: AIOKafkaConnection, *request: Any, **more: Any) -> Any:
    """As aiokafka's own, but a connection that is lost already is told as one that is lost."""
    try:
        return _send(connection, *request, **more)
    except RuntimeError as error:
        connection.close(reason=CloseReason.CONNECTION_BROKEN)
        raise KafkaConnectionError(f"Connection at {connection.host}:{connection.port} broken: {error}") from error
