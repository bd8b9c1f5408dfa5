"""Work that nobody waits for, in steps of some milliseconds, so that it takes no more than half of a host's time."""

import asyncio
import time
from collections.abc import Iterable


async def gently(steps: Iterable[None]) -> None:
    """Takes all steps, and rests after each for as long as it took."""
    begin_s = time.monotonic()
    for _ in steps:
        await asyncio.sleep(time.monotonic() - begin_s)
        begin_s = time.monotonic()
