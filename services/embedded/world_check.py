"""How far the regions of a running world really are: round trips through its gates, against what was asked for.

The smallest question that a broker answers (ApiVersions, version 0) goes through a gate and comes back: two half round
trips, and a fraction of a millisecond of the broker's own.
"""

import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from services.embedded.links import Gate, Gates

ANSWER_TIMEOUT_S = 15.0
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, -1)
"""Key, version, correlation id, and no name of the client."""


@dataclass(frozen=True, slots=True)
class MeasuredWay:
    """One gate: what it should take, and the median, smallest and largest round trip that was seen."""

    gate: Gate
    round_trip_ms: float
    least_ms: float
    most_ms: float

    @property
    def error_ms(self) -> float:
        """How much longer than it should be."""
        return self.round_trip_ms - 2 * self.gate.delay_ms


def measure_ways(gates: Gates, *, questions: int = 5) -> Iterator[MeasuredWay]:
    """Asks through every gate. Raises OSError if one does not answer."""
    for gate in gates.gates:
        trips_ms = round_trips_ms(gates.host, gate.port, questions=questions)
        yield MeasuredWay(gate, median(trips_ms), min(trips_ms), max(trips_ms))


def round_trips_ms(host: str, port: int, *, questions: int) -> list[float]:
    """So many questions to a broker, one after the other, after one that is not counted."""
    trips_ms = []
    with socket.create_connection((host, port), timeout=ANSWER_TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(questions + 1):
            begin_s = time.perf_counter()
            connection.sendall(struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS)
            (length,) = struct.unpack(">i", _read(connection, 4))
            _read(connection, length)
            trips_ms.append((time.perf_counter() - begin_s) * 1e3)
    return trips_ms[1:]


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            raise OSError("the broker closed the connection")
        found += piece
    return found
