"""Measure: two hosts against one, in turns of a second.

Both run the same flow, half of the partitions each; in every second turn one of them is frozen, now this one, now that.
So both sides of a ratio are a second apart, on a machine whose speed changes by half from one minute to the next; and
neither starts nor has run out of work while it counts.
"""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from services.embedded.spawn import send
from services.lab.dataplane.contestants import Bout, ours
from services.lab.dataplane.ground import Backlog, BenchError, Ground, wait_until
from services.lab.dataplane.parties import BROKER, MACHINE, SIDE, Used, cores, used
from services.lab.dataplane.trial import FIRST_RESULT_TIMEOUT_S, running
from services.lab.dataplane.workloads import Workload
from services.lab.results import Row

TURN_S = 1.0
SETTLE_S = 0.3
"""After a change: what the one that wakes finds is not what it would have found awake."""
WARM_SHARE, END_SHARE = 0.1, 0.85
"""Of all results: when both are warm, and when the first of them may soon have no more to do."""


@dataclass(frozen=True, slots=True)
class HostsTurn:
    """What so many hosts did in a turn."""

    hosts: int
    records_per_s: float
    cores: Mapping[str, float]
    """What each party kept busy."""


def two_hosts(ground: Ground, backlog: Backlog, workloads: Sequence[Workload], *, repetitions: int) -> list[Row]:
    """Rates of one and of two, the ratio of neighbouring turns, and what hosts, broker and machine kept busy."""
    found: dict[str, list[list[HostsTurn]]] = {workload.name: [] for workload in workloads}
    for number in range(repetitions):
        for workload in workloads:
            ground.say(f"{workload.name}, two hosts and one in turn, repetition {number + 1} of {repetitions}")
            found[workload.name].append(_trial(ground, backlog, workload))
    return [row for name, trials in found.items() for row in rows(name, trials)]


def rows(workload: str, trials: Sequence[Sequence[HostsTurn]]) -> list[Row]:
    """Of each trial, the medians of its turns and of its pairs."""
    told = []
    for hosts, name in ((2, "2 hosts"), (1, "1 host")):
        chosen = [[turn for turn in trial if turn.hosts == hosts] for trial in trials]
        rates = [median(turn.records_per_s for turn in turns) for turns in chosen]
        told.append(Row.of(f"{workload}: {name}", rates, "records/s"))
        for party in (SIDE, BROKER, MACHINE):
            busy = [median(turn.cores[party] for turn in turns) for turns in chosen]
            told.append(Row.of(f"{workload}: {name}, {party}", busy, "cores"))
    ratios = [median(_ratios(trial)) for trial in trials]
    return [Row.of(f"{workload}: 2 hosts over 1 host", ratios, "ratio", baseline="1 host"), *told]


def _ratios(turns: Sequence[HostsTurn]) -> Iterator[float]:
    for one, other in pairwise(turns):
        both, alone = (one, other) if one.hosts == 2 else (other, one)
        yield both.records_per_s / alone.records_per_s


def _trial(ground: Ground, backlog: Backlog, workload: Workload) -> list[HostsTurn]:
    bout = Bout(ground, f"bench-{uuid.uuid4().hex[:8]}", workload, backlog.topic, ground.new_topic("sink"))
    results = backlog.results[workload.name]
    try:
        with running(ours(hosts=2).commands(bout), ground.folder / f"{bout.id}.log") as children:
            turns = _turns(ground, bout.sink, children, results=results, records_a_result=backlog.records / results)
    finally:
        ground.drop_topics(bout.id)
        ground.drop_topics(bout.sink)
    if len(turns) < 3:
        raise BenchError(f"{workload.name}: all was done after {len(turns)} turns; take more records")
    return turns


def _turns(
    ground: Ground,
    sink: str,
    children: Sequence[subprocess.Popen[bytes]],
    *,
    results: int,
    records_a_result: float,
) -> list[HostsTurn]:
    def seen() -> int:
        return ground.visible(sink, is_committed=False)

    def spent() -> Used:
        return used(brokers=ground.broker_pids, side=[child.pid for child in children], sender=os.getpid())

    wait_until(lambda: seen() >= WARM_SHARE * results, timeout_s=FIRST_RESULT_TIMEOUT_S, what="a tenth of all results")
    turns: list[HostsTurn] = []
    while True:
        is_alone = len(turns) % 2 == 1
        resting = children[len(turns) // 2 % 2]
        if is_alone:
            send(resting, signal.SIGSTOP)
        try:
            time.sleep(SETTLE_S)
            begin, begun = spent(), seen()
            time.sleep(TURN_S)
            end, done = spent(), seen()
        finally:
            if is_alone:
                send(resting, signal.SIGCONT)
        if done > END_SHARE * results or done == begun:
            return turns
        rate = (done - begun) * records_a_result / (end.at_s - begin.at_s)
        turns.append(HostsTurn(1 if is_alone else 2, rate, cores(begin, end)))
