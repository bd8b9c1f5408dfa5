"""Ending background tasks for sure.

In Python 3.11 a cancellation that meets `asyncio.wait_for` in the moment its future completes is lost, and aiokafka
waits that way at every turn. So a task is cancelled again until it has ended.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 0.2


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Returns when all of these have ended, by cancellation or otherwise; what they raised is theirs."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=AGAIN_S)
