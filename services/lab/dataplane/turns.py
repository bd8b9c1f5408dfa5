"""Turns of one process: what it does in each, and what that takes of the processor.

A batch costs a tenth of a millisecond or two, and a thousand records two, on a machine whose speed changes by half from
one minute to the next: only turns of one process that are next to each other can tell one from the other.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

TURN_S = 1.0
SETTLE_S = 0.4
"""At the beginning of a turn what was fetched in the former one is worked off: a quarter of a second's work at most."""


class Turn(msgspec.Struct, frozen=True):
    """What was done in one turn."""

    is_limited: bool
    records: int
    cpu_s: float


class Turns:
    """Whose turn it is, and what came of those that are over."""

    def __init__(
        self,
        records_max: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        self.over: list[Turn] = []
        self._limit = records_max
        self._clock, self._cpu = clock, cpu
        self._is_limited = True
        self._since_s: float | None = None
        """When the turn began; None before the first record."""
        self._settled_cpu_s: float | None = None
        self._records = 0

    def records_max(self) -> int:
        """Of a poll, now."""
        return self._limit if self._is_limited else sys.maxsize

    def done(self, records: int) -> None:
        """So many records are through all operators."""
        now_s, cpu_s = self._clock(), self._cpu()
        if self._since_s is None:
            self._since_s = now_s
        elif self._settled_cpu_s is None:
            if now_s >= self._since_s + SETTLE_S:
                self._settled_cpu_s = cpu_s
        else:
            self._records += records
            if now_s >= self._since_s + TURN_S:
                self.over.append(Turn(self._is_limited, self._records, cpu_s - self._settled_cpu_s))
                self._is_limited, self._records = not self._is_limited, 0
                self._since_s, self._settled_cpu_s = now_s, None

    def write(self, file: Path) -> None:
        """All turns but the last, which has no end."""
        file.write_bytes(msgspec.json.encode(self.over))


def read(file: Path) -> list[Turn]:
    """What such a host wrote."""
    return msgspec.json.decode(file.read_bytes(), type=list[Turn])
