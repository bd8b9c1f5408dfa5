"""The processor of a played host: one queue for all that runs there, first come first served, as in the simulated half.

Work is waited for, and not done: hosts at their limits, a broker and Spark would need more than the cores of a small
machine, and each would slow down the others.
"""

import asyncio
import heapq
import time


class Processor:
    """`turn` comes when all that was sent before is done, and this as well."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, float, asyncio.Future[None]]] = []
        self._asked = 0
        self._free_s = 0.0
        self._serving: asyncio.Task[None] | None = None

    def turn(self, sent_ms: float, works_s: float) -> asyncio.Future[None]:
        """Done when records that were sent then have had the processor for so long. Who no longer waits cancels it."""
        done = asyncio.get_running_loop().create_future()
        self._asked += 1
        heapq.heappush(self._waiting, (sent_ms, self._asked, works_s, done))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return done

    async def _serve(self) -> None:
        while self._waiting:
            _, _, works_s, done = heapq.heappop(self._waiting)
            if done.cancelled():
                continue
            # By the clock: a sleep that takes longer does not make the processor slower.
            self._free_s = max(self._free_s, time.monotonic()) + works_s
            await asyncio.sleep(self._free_s - time.monotonic())
            if not done.done():
                done.set_result(None)
            await asyncio.sleep(0)  # whoever had it asks for the next turn
