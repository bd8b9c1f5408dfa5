"""Ending background tasks for sure.

In Python 3.11 a cancellation that meets `asyncio.wait_for` in the moment its future completes is lost, and aiokafka
waits that way at every turn. So a task is cancelled again until it has ended.

A task that was cancelled keeps the frames in which that met it, with all that is in them: often the one who holds the
task, and so a cycle that no counting of references frees. Its end is therefore taken from it.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

AGAIN_S = 0.2


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Returns when all of these have ended, by cancellation or otherwise; what they raised is theirs."""
    ending = list(tasks)
    pending = {task for task in ending if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=AGAIN_S)
    for task in ending:
        if task.cancelled():
            with contextlib.suppress(asyncio.CancelledError):
                task.result()
