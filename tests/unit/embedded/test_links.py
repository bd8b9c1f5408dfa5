"""The proxy that plays the ways of a world, on real sockets: late, in order, whole, no faster than the way."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.embedded.links import WAITING_BYTES_MAX, Gate, Gates, Way, open_gates
from services.embedded.ports import choose_ports

LATE_MS = 60.0
"""What a busy machine may add."""


@asynccontextmanager
async def way(delay_ms: float, bytes_per_ms: float | None = None) -> AsyncIterator[tuple[int, int]]:
    """A gate to a target port, where the test listens."""
    gate_port, target = choose_ports([None, None])
    gate = Gate(client="a", broker="b", port=gate_port, target=target, delay_ms=delay_ms, bytes_per_ms=bytes_per_ms)
    (server,) = await open_gates(Gates("127.0.0.1", (gate,)))
    yield gate_port, target
    server.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_a_round_trip_takes_what_the_world_says() -> None:
    """Half on the way there, half on the way back, for each question anew."""

    async def play() -> list[float]:
        async with way(20.0) as (gate, target):
            server = await asyncio.start_server(echo, "127.0.0.1", target)
            reader, writer = await asyncio.open_connection("127.0.0.1", gate)
            trips_ms = []
            for _ in range(10):
                begin_s = time.perf_counter()
                writer.write(b"?")
                await reader.readexactly(1)
                trips_ms.append((time.perf_counter() - begin_s) * 1e3)
            writer.close()
            server.close()
            return trips_ms

    trips_ms = asyncio.run(play())
    assert min(trips_ms) > 40.0 - 2.0
    assert min(trips_ms) < 40.0 + LATE_MS


def test_all_bytes_arrive_in_order_and_then_the_end() -> None:
    """More than a gate lets wait, through a reader that pauses: nothing is lost, nothing is out of place."""
    sent = b"".join(number.to_bytes(4, "big") for number in range(3 * WAITING_BYTES_MAX // 4))

    async def play() -> bytes:
        received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.2)
            received.set_result(await reader.read(-1))
            writer.close()

        async with way(5.0) as (gate, target):
            server = await asyncio.start_server(slow, "127.0.0.1", target)
            _, writer = await asyncio.open_connection("127.0.0.1", gate)
            writer.write(sent)
            await writer.drain()
            writer.write_eof()
            found = await asyncio.wait_for(received, 60)
            writer.close()
            server.close()
            return found

    assert sent == asyncio.run(play())


def test_all_connections_of_a_way_share_its_bandwidth() -> None:
    """Two megabytes at ten a second take a fifth of a second, by one connection or by four."""

    async def play(connections: int) -> float:
        async with way(1.0, bytes_per_ms=10_000.0) as (gate, target):
            server = await asyncio.start_server(echo, "127.0.0.1", target)
            size = 2_000_000 // connections

            async def one() -> None:
                reader, writer = await asyncio.open_connection("127.0.0.1", gate)
                writer.write(b"x" * size)
                await reader.readexactly(size)
                writer.close()

            begin_s = time.perf_counter()
            await asyncio.gather(*(one() for _ in range(connections)))
            server.close()
            return time.perf_counter() - begin_s

    for connections in (1, 4):
        took_s = [asyncio.run(play(connections)) for _ in range(3)]
        assert 0.2 <= min(took_s) < 0.2 + 10 * LATE_MS / 1e3


def test_a_way_without_limit_only_delays() -> None:
    """And one with a limit lets messages queue behind each other."""
    assert 1.005 == pytest.approx(Way(5.0, None).arrival_s(10**9, 1.0))
    limited = Way(5.0, 100.0)
    assert [1.015, 1.025, 2.006] == pytest.approx(
        [limited.arrival_s(1_000, 1.0), limited.arrival_s(1_000, 1.0), limited.arrival_s(100, 2.0)]
    )


def test_a_broker_that_is_down_is_a_closed_connection() -> None:
    """As a client would see it without the proxy."""

    async def play() -> bytes:
        async with way(1.0) as (gate, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", gate)
            try:
                return await asyncio.wait_for(reader.read(1), 60)
            except ConnectionResetError:
                return b""
            finally:
                writer.close()

    assert b"" == asyncio.run(play())


def test_the_end_of_one_side_ends_the_other() -> None:
    """A client that left must not hold a broker's connection, nor the other way round."""

    async def play() -> None:
        left = asyncio.Event()

        async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.close()
            left.set()

        async with way(1.0) as (gate, target):
            server = await asyncio.start_server(leave, "127.0.0.1", target)
            reader, writer = await asyncio.open_connection("127.0.0.1", gate)
            writer.write(b"?")
            assert b"" == await asyncio.wait_for(reader.read(1), 60)
            assert left.is_set()
            writer.close()
            server.close()

    asyncio.run(play())
