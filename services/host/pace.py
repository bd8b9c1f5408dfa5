"""Pace: makes a host as slow as its capacity says, to play a world of unequal hosts on one machine.

After each batch its task rests for as long as a slower host would still be at work. All tasks of a host share one
pace, as they would share one processor.
"""

import asyncio
import time


class Pace:
    """`slowness`: how many times longer everything takes than on this machine."""

    def __init__(self, slowness: float) -> None:
        assert slowness >= 1, slowness
        self.slowness = slowness
        self._free_s = 0.0

    async def rest(self, worked_s: float) -> None:
        """The rest of the work of a slower host, behind all that it still has to do."""
        if self.slowness == 1:
            return
        now_s = time.monotonic()
        self._free_s = max(self._free_s, now_s) + worked_s * (self.slowness - 1)
        await asyncio.sleep(self._free_s - now_s)


FULL_PACE = Pace(1.0)
