"""How far a broker is: the smallest question that it answers (ApiVersions, version 0), there and back."""

import socket
import struct
import time

ANSWER_TIMEOUT_S = 15.0
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, -1)
"""Key, version, correlation id, and no name of the client."""


def round_trips_ms(host: str, port: int, *, questions: int, timeout_s: float = ANSWER_TIMEOUT_S) -> list[float]:
    """So many questions, one after the other, after one that is not counted. Raises OSError without an answer."""
    trips_ms = []
    with socket.create_connection((host, port), timeout=timeout_s) as connection:
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
