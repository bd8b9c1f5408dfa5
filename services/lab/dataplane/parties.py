"""Who takes how much of the processors while records flow: the broker, the side under test, the sender, the reader.

On a machine that they fill, what is measured as latency is mostly the wait for a processor.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from services.lab.dataplane.trial import cpu_s

BROKER, SIDE, SENDER, READER = "broker", "side", "sender", "reader"
MACHINE = "whole machine"
"""All of these, and whoever else is there."""


@dataclass(frozen=True, slots=True)
class Used:
    """Processor time of each party, up to a moment."""

    at_s: float
    cpu_s: Mapping[str, float]


def used(*, brokers: Sequence[int], side: Sequence[int], sender: int) -> Used:
    """Up to now, by process ids. The reader is this process."""
    return Used(
        time.monotonic(),
        {
            BROKER: sum(map(cpu_s, brokers)),
            SIDE: sum(map(cpu_s, side)),
            SENDER: cpu_s(sender),
            READER: time.process_time(),
            MACHINE: _machine_s(),
        },
    )


def cores(begin: Used, end: Used) -> dict[str, float]:
    """How many processors each party kept busy in between."""
    took_s = end.at_s - begin.at_s
    return {party: (end.cpu_s[party] - before_s) / took_s for party, before_s in begin.cpu_s.items()}


def _machine_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)
