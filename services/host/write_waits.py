"""How long results wait to be written, beyond the way to the broker and back. Pure.

The first record of a transaction on a partition waits until the coordinator of transactions has been asked about it,
by the task and by the partition's leader (decision 260); others wait for those before them. Only the task can see it.
What the quickest of the last writes took is the way, which the model knows; the rest is the wait.
"""

from collections import deque

WRITES = 16


class WriteWaits:
    """Of one task."""

    def __init__(self) -> None:
        self._took_ms: deque[float] = deque(maxlen=WRITES)

    @property
    def way_ms(self) -> float:
        """To the broker and back; 0 while nobody knows."""
        return min(self._took_ms, default=0.0)

    def wait_ms(self, took_ms: float) -> float:
        """Of a write that was answered after so long."""
        self._took_ms.append(took_ms)
        return took_ms - self.way_ms
