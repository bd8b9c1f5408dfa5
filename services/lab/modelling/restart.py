"""Kill -9 of the modelling service: how long until models flow again, and whether Redis keeps the last ones.

The supervisor of the stack starts it again, as under `stigmergy up`; what is measured has nothing to do with that but
to look at Redis.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redis import Redis

from services.embedded import EmbeddedStack
from services.lab.dataplane.ground import BenchError
from services.lab.results import Row
from services.modelling.furnish import NAME
from services.modelling.mirror_read import read_model

POLL_S = 0.02
FLOW_TIMEOUT_S = 240.0

Read = Callable[[], int | None]
"""The last second that a model knows; None: there is no model."""


@dataclass(frozen=True, slots=True)
class Outage:
    """`lasted_s` from the kill to the first model that knows a second after it; `empty` of `reads` found no model."""

    lasted_s: float
    reads: int
    empty: int


def kill(stack: EmbeddedStack, redis: Redis, key: str) -> Outage:
    """Kills the service, its JVM with it, and looks at one model until it is new again."""
    pid = next(each.pid for each in stack.records() if each.name == NAME)
    if pid is None:
        raise BenchError(f"the modelling service does not run; see {stack.home.logs / f'{NAME}.log'}")

    def read() -> int | None:
        found = read_model(redis, key)
        return found.second if found is not None else None

    killed_s = time.time()
    os.killpg(pid, signal.SIGKILL)
    return watch(read, killed_s, now_s=time.time, pause=time.sleep)


def watch(read: Read, killed_s: float, *, now_s: Callable[[], float], pause: Callable[[float], None]) -> Outage:
    """Reads again and again until a model knows a second that began after the kill."""
    reads = empty = 0
    while True:
        second = read()
        reads, empty = reads + 1, empty + (second is None)
        lasted_s = now_s() - killed_s
        if second is not None and second > killed_s:
            return Outage(lasted_s, reads, empty)
        if lasted_s > FLOW_TIMEOUT_S:
            raise BenchError(f"models after kill -9: not in {FLOW_TIMEOUT_S:.0f} s")
        pause(POLL_S)


def restart_rows(outages: Sequence[Outage], kills: int, name: str) -> list[Row]:
    """What the kills cost. Hosts read the topic, where the last models stay; Redis is what tools read."""
    unanswered = [float(kills - len(outages))]
    made = [Row.of(f"kills after which no model came within {FLOW_TIMEOUT_S:.0f} s: {name}", unanswered, "times")]
    if outages:
        empty = [each.empty / each.reads for each in outages]
        made += [
            Row.of(f"kill -9 until models flow again: {name}", [each.lasted_s for each in outages], "s"),
            Row.of(f"reads of Redis meanwhile that found no model: {name}", empty, "share"),
        ]
    return made
