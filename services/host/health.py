"""Health and metrics over HTTP, on the loopback interface: `/health` answers when the host is ready, `/metrics` is for
Prometheus.

The server knows GET and nothing else, one request a connection, with bounds on what it reads.
"""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

from services.host.exposition import exposition
from services.host.reports import Reports
from services.registry.view import RegistryView

LOOPBACK = "127.0.0.1"
REQUEST_TIMEOUT_S = 5.0
REQUEST_BYTES_MAX = 8_192


class HealthServer:
    """Listens while its context is open."""

    def __init__(self, port: int, reports: Reports, view: RegistryView) -> None:
        self._port = port
        self._reports = reports
        self._view = view
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, self._port, limit=REQUEST_BYTES_MAX)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                request = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = self._answer(request.split(b" ", 2))
                head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    def _answer(self, request: list[bytes]) -> tuple[str, str, bytes]:
        method, path = request[0], request[1] if len(request) > 1 else b""
        if method != b"GET":
            return "405 Method Not Allowed", "text/plain", b"GET is all there is\n"
        if path == b"/health":
            return "200 OK", "text/plain", b"ready\n"
        if path == b"/metrics":
            text = exposition(self._reports, garbage=self._view.garbage)
            return "200 OK", "text/plain; version=0.0.4; charset=utf-8", text.encode()
        return "404 Not Found", "text/plain", b"try /health or /metrics\n"
