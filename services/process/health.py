"""A small HTTP server for health checks and Prometheus, on the loopback interface unless another one is named.

It knows GET and nothing else, one request a connection, with bounds on what it reads.
"""

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from services.settings import LOOPBACK

REQUEST_TIMEOUT_S = 5.0
REQUEST_BYTES_MAX = 8_192
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PORT_MAX = 65_535
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what a person may have chosen; the default is loopback

Page = tuple[str, bytes]
"""Content type and body."""


class UnwellError(Exception):
    """Raised by a page: it is answered with 503 and these words."""


class CannotListenError(Exception):
    """No server can listen where this one was told to. `remedy` is the next thing a person should try."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n{remedy}")
        self.what = what
        self.remedy = remedy


def plain(text: str) -> Page:
    """A page of text."""
    return "text/plain; charset=utf-8", text.encode()


def port_number(text: str) -> int:
    """The port that an argument names. Raises ValueError if there is no such port."""
    port = int(text)
    if not 1 <= port <= PORT_MAX:
        raise ValueError(text)
    return port


def reached_at(listen: str, port: int) -> str:
    """Where others reach a server that listens there: by the machine's name if it listens everywhere."""
    name = socket.gethostname() if listen in EVERYWHERE else listen
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


class HealthServer:
    """Serves these pages, each made anew for every request, while its context is open.

    Until `is_ready` says so all of them are answered with 503: a process takes its port before it does anything that
    others see, and becomes ready later. Entering the context raises CannotListenError.
    """

    def __init__(
        self,
        port: int,
        pages: Mapping[str, Callable[[], Page]],
        *,
        listen: str = LOOPBACK,
        is_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._listen = listen
        self._port = port
        self._pages = pages
        self._is_ready = is_ready
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, self._listen, self._port, limit=REQUEST_BYTES_MAX)
        except OSError as fault:
            raise self._refused(fault) from fault
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    def _refused(self, fault: OSError) -> CannotListenError:
        where = f"port {self._port} of {self._listen}"
        if fault.errno == errno.EADDRINUSE:
            return CannotListenError(
                f"{where} is taken by another process",
                f"choose another --port, or see with `ss -ltnp 'sport = :{self._port}'` who has it",
            )
        # asyncio wraps the system's words into a sentence of its own; those of a name that can't be found are its own.
        is_known = fault.errno is not None and not isinstance(fault, socket.gaierror)
        why = os.strerror(fault.errno or 0) if is_known else str(fault)
        return CannotListenError(
            f"no pages can be served on {where}: {why}",
            "choose another --port, or correct the setting listen (STIGMERGY_LISTEN)",
        )

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
        if not self._is_ready():
            return "503 Service Unavailable", plain("not ready yet\n")
        try:
            return "200 OK", self._pages[path]()
        except UnwellError as words:
            return "503 Service Unavailable", plain(f"{words}\n")
