"""How late the event loop runs what is due: the sign of a host that has more to do than it can."""

import asyncio

from topics.messages import Moments

PROBE_EVERY_S = 0.1


class LoopDelay:
    """`run` sleeps again and again and notes how much longer than asked each sleep took."""

    def __init__(self) -> None:
        self._delays_ms: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + PROBE_EVERY_S
            await asyncio.sleep(PROBE_EVERY_S)
            self._delays_ms.append(max(0.0, (loop.time() - due_s) * 1_000))

    def take(self) -> tuple[Moments, float]:
        """The delays since this was last asked, and the longest of them, in milliseconds."""
        delays_ms, self._delays_ms = self._delays_ms, []
        squares = sum(each * each for each in delays_ms)
        return Moments.rounded(len(delays_ms), sum(delays_ms), squares), round(max(delays_ms, default=0.0), 3)
