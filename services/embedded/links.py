"""`python -m services.embedded.links FILE`: the ways between the regions of a world, played by one small proxy.

Each gate listens on a port of its own and passes bytes on to a broker's listener and back. What it reads is handed on
half a round trip later, behind all that took the same way before it at the way's bandwidth: all connections between two
regions share one way in each direction. What waits in a gate is bounded; a sender that is faster than the way is held
back, as TCP would hold it.
"""

import asyncio
import signal
import sys
import time
from collections import deque
from pathlib import Path
from typing import cast

import msgspec
import uvloop

WAITING_BYTES_MAX = 4 * 2**20
"""Of one direction of one connection: more than a long way holds at a gigabit."""
EARLY_S = 0.00025
"""libuv counts milliseconds: a timer is early or late by up to half of one, so what is due almost now goes along."""


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Clients of region `client` reach the broker in region `broker` here.

    Without a `target_host` the broker is on the machine of the gates.
    """

    client: str
    broker: str
    port: int
    target: int
    target_host: str | None = None
    delay_ms: float
    bytes_per_ms: float | None = None


class Gates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that the proxy reads."""

    host: str
    gates: tuple[Gate, ...]


class Way:
    """One direction between two regions: when it has passed on all that was given to it."""

    __slots__ = ("_bytes_per_s", "_free_s", "delay_s")

    def __init__(self, delay_ms: float, bytes_per_ms: float | None) -> None:
        self.delay_s = delay_ms / 1e3
        self._bytes_per_s = None if bytes_per_ms is None else bytes_per_ms * 1e3
        self._free_s = 0.0

    def arrival_s(self, size: int, now_s: float) -> float:
        """When the last of these bytes comes out at the other end."""
        if self._bytes_per_s is None:
            return now_s + self.delay_s
        self._free_s = max(self._free_s, now_s) + size / self._bytes_per_s
        return self._free_s + self.delay_s


class Half(asyncio.Protocol):
    """One end of a connection: what it reads goes, in time, to its `peer`. An empty chunk stands for the end."""

    __slots__ = ("_held", "_timer", "_waiting", "_waiting_bytes", "_way", "is_open", "peer", "transport")

    def __init__(self, way: Way) -> None:
        self.peer: Half | None = None
        self.transport: asyncio.Transport | None = None
        self.is_open = False
        self._way = way
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.is_open = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        self._waiting.append((self._way.arrival_s(len(data), time.monotonic()), data))
        self._waiting_bytes += len(data)
        if self._waiting_bytes > WAITING_BYTES_MAX:
            self._hold()
        self._set_timer()

    def eof_received(self) -> bool:
        self._end()
        return True  # what comes the other way still has to arrive

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._end()

    def pause_writing(self) -> None:
        """Our reader is slow: nothing more is handed to it, so that its sender is held back in the end."""
        if self.peer is not None:
            self.peer.stall()

    def resume_writing(self) -> None:
        if self.peer is not None:
            self.peer.go_on()

    def stall(self) -> None:
        """Hand on nothing for now."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._held = True
        self._hold()

    def go_on(self) -> None:
        """Hand on again."""
        self._held = False
        self._deliver()

    def _end(self) -> None:
        if not self._waiting or self._waiting[-1][1]:
            self._waiting.append((self._way.arrival_s(0, time.monotonic()), b""))
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is None and self._waiting and not self._held:
            wait_s = max(0.0, self._waiting[0][0] - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        due_s = time.monotonic() + EARLY_S
        chunks = []
        while self._waiting and self._waiting[0][0] <= due_s:
            chunk = self._waiting.popleft()[1]
            self._waiting_bytes -= len(chunk)
            chunks.append(chunk)
        peer = self.peer
        if chunks and peer is not None and peer.is_open and peer.transport is not None:
            ended = not chunks[-1]
            if any(chunks):
                peer.transport.write(b"".join(chunks))
            if ended:
                peer.transport.close()
        if self.is_open and not self._held and self.transport is not None and self._waiting_bytes <= WAITING_BYTES_MAX:
            self.transport.resume_reading()
        self._set_timer()

    def _hold(self) -> None:
        if self.is_open and self.transport is not None:
            self.transport.pause_reading()


class Entrance(Half):
    """The client's end: it connects to the broker when a client does, as if from the client's own region."""

    __slots__ = ("_back", "_host", "_target", "_tasks")

    def __init__(self, host: str, target: int, there: Way, back: Way, tasks: set[asyncio.Task[None]]) -> None:
        super().__init__(there)
        self._host, self._target = host, target
        self._back = back
        self._tasks = tasks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.stall()  # nothing to hand it to yet
        task = asyncio.get_running_loop().create_task(self._connect())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> None:
        exit_ = Half(self._back)
        exit_.peer = self
        try:
            await asyncio.get_running_loop().create_connection(lambda: exit_, self._host, self._target)
        except OSError:  # the broker is down; its client sees a closed connection, as it would
            if self.transport is not None:
                self.transport.abort()
            return
        self.peer = exit_
        self.go_on()


async def open_gates(gates: Gates) -> list[asyncio.Server]:
    """Opens all gates; they are open until these servers are closed."""
    loop = asyncio.get_running_loop()
    ways: dict[tuple[str, str], Way] = {}
    tasks: set[asyncio.Task[None]] = set()
    servers: list[asyncio.Server] = []
    for gate in gates.gates:
        there = ways.setdefault((gate.client, gate.broker), Way(gate.delay_ms, gate.bytes_per_ms))
        back = ways.setdefault((gate.broker, gate.client), Way(gate.delay_ms, gate.bytes_per_ms))

        def entrance(gate: Gate = gate, there: Way = there, back: Way = back) -> Entrance:
            return Entrance(gate.target_host or gates.host, gate.target, there, back, tasks)

        servers.append(await loop.create_server(entrance, gates.host, gate.port))
    return servers


def play(gates: Gates) -> None:
    """Keeps the gates open until SIGTERM or SIGINT."""

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        servers = await open_gates(gates)
        await stop.wait()
        for server in servers:
            server.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def main() -> None:
    """Entry of the process."""
    play(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Gates))


if __name__ == "__main__":
    main()
