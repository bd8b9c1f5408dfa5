"""Traces of simulated runs as files: one JSON object a line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from placement.simulator.body import Observer
from placement.simulator.trace import describe


@contextmanager
def trace_file(path: Path | None) -> Iterator[Observer | None]:
    """An observer that writes to a file; none without a path."""
    if path is None:
        yield None
        return
    with path.open("wb") as file:

        def write(now_ms: float, where: str, what: Any) -> None:
            file.write(msgspec.json.encode(describe(now_ms, where, what)) + b"\n")

        yield write
