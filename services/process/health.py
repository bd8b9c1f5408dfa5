"""A small HTTP server for health checks and Prometheus, on the loopback interface unless another one is named.

It knows GET and nothing else, one request a connection, with bounds on what it reads.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from services.settings import LOOPBACK

REQUEST_TIMEOUT_S = 5.0
REQUEST_BYTES_MAX = 8_192
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Page = tuple[str, bytes]
"""Content type and body."""


class UnwellError(Exception):
    """Raised by a page: it is answered with 503 and these words."""


def plain(text: str) -> Page:
    """A page of text."""
    return "text/plain; charset=utf-8", text.encode()


class HealthServer:
    """Serves these pages, each made anew for every request, while its context is open."""

    def __init__(self, port: int, pages: Mapping[str, Callable[[], Page]], *, listen: str = LOOPBACK) -> None:
        self._listen = listen
        self._port = port
        self._pages = pages
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._listen, self._port, limit=REQUEST_BYTES_MAX)
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
                status, (kind, body) = self._answer(request.split(b" ", 2))
                head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
        writer.close()

    def _answer(self, request: list[bytes]) -> tuple[str, Page]:
        method, path = request[0], request[1].decode(errors="replace") if len(request) > 1 else ""
        if method != b"GET":
            return "405 Method Not Allowed", plain("GET is all there is\n")
        if path not in self._pages:
            return "404 Not Found", plain(f"try {' or '.join(self._pages)}\n")
        try:
            return "200 OK", self._pages[path]()
        except UnwellError as words:
            return "503 Service Unavailable", plain(f"{words}\n")
