"""A host that also writes down its cell's processor time: `metered_host.py FILE`, then a host's options.

Every task of the event loop is timed while it runs, on the clock of its thread. What a cell starts inherits its mark:
its Kafka clients' tasks are the cell's, too. What the loop itself takes (sockets, timers) belongs to nobody and is told
by the whole process's time. Appends a line a second: the moment, seconds of the cell's tasks, of all tasks, of the
process, and how many messages of each kind the cell has sent.
"""

import asyncio
import functools
import json
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import uvloop

from services.host.cell.service import CellService
from services.host.main import main

EVERY_S = 1.0
IS_CELL: ContextVar[bool] = ContextVar("is_cell", default=False)


class Meter:
    """Seconds of processor time so far, and what was sent."""

    def __init__(self) -> None:
        self.cell_s = 0.0
        self.tasks_s = 0.0
        self.sent: Mapping[str, int] = {}

    def add(self, took_s: float, *, is_cell: bool) -> None:
        """A step of a task."""
        self.tasks_s += took_s
        if is_cell:
            self.cell_s += took_s


class Metered(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is timed."""

    def __init__(self, inner: Coroutine[Any, Any, Any], meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    def _timed(self, step: Callable[..., Any], *arguments: Any) -> Any:
        begun_s = time.thread_time()
        try:
            return step(*arguments)
        finally:
            self._meter.add(time.thread_time() - begun_s, is_cell=IS_CELL.get())

    def send(self, value: Any) -> Any:
        """One step."""
        return self._timed(self._inner.send, value)

    def throw(self, *fault: Any) -> Any:
        """One step, into which an exception goes."""
        return self._timed(self._inner.throw, *fault)

    def close(self) -> None:
        """End it."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()


def as_cell(
    method: Callable[[CellService], Coroutine[Any, Any, None]], meter: Meter
) -> Callable[[CellService], Coroutine[Any, Any, None]]:
    """The same method, whose tasks are the cell's."""

    @functools.wraps(method)
    async def marked(self: CellService) -> None:
        token = IS_CELL.set(True)
        meter.sent = self.post.sent
        try:
            await method(self)
        finally:
            IS_CELL.reset(token)

    return marked


def tell(file: Path, meter: Meter) -> None:
    """A line a second, for ever."""
    while True:
        line: dict[str, Any] = {"at_s": time.monotonic(), "cell_s": meter.cell_s, "tasks_s": meter.tasks_s}
        line |= {"process_s": time.process_time(), "sent": dict(meter.sent)}
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")
        time.sleep(EVERY_S)


if __name__ == "__main__":
    told_to, counted = Path(sys.argv.pop(1)), Meter()
    make_loop = uvloop.new_event_loop

    def metered_loop() -> uvloop.Loop:
        """uvloop's, with timed tasks."""
        loop = make_loop()
        loop.set_task_factory(lambda loop, coro, **more: asyncio.Task(Metered(coro, counted), loop=loop, **more))
        return loop

    uvloop.new_event_loop = metered_loop
    CellService.start = as_cell(CellService.start, counted)  # type: ignore[method-assign, assignment]
    CellService.run = as_cell(CellService.run, counted)  # type: ignore[method-assign, assignment]
    threading.Thread(target=tell, args=(told_to, counted), daemon=True).start()
    main()
