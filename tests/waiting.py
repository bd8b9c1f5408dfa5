"""Waiting in tests: never for a time, always for a condition; who waits in vain says for what.

Chaos has its own (`tests.chaos.ground`): brokers are away on purpose there, and whoever waits may be frozen.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 120.0


def until(condition: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S, poll_s: float = 0.05) -> T:
    """What the condition gives as soon as that is true."""
    deadline_s = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"waited {patience_s:.0f} s in vain: {what}"
        time.sleep(poll_s)
    return found


async def until_async(condition: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S) -> T:
    """The same while an event loop goes on."""
    deadline_s = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"waited {patience_s:.0f} s in vain: {what}"
        await asyncio.sleep(0.01)
    return found
