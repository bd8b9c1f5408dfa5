"""One trial: a process runs a workload on the backlog, and is watched from outside, in the same way whatever it is.

Progress is how many results a reader can see; those of exactly_once only when they are committed. The clock runs from
a moment after the first of them, when the process is warm, until the last, or until enough time has gone by for a slow
one.
"""

import math
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from services.embedded.spawn import send, spawn
from services.lab.dataplane.ground import BenchError, Ground

SAMPLE_EVERY_S = 0.03
FIRST_RESULT_TIMEOUT_S = 90.0
STALL_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Patience:
    """When the clock starts, after the first result; and when a slow side has been watched for long enough.

    `warm_up_share`: of all results, which must be there too, since on a busy machine little is done in a while.
    """

    warm_up_s: float = 0.5
    warm_up_share: float = 0.0
    measured_s_max: float = 15.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one moment: results, and the processor time of the process and of the brokers."""

    at_s: float
    results: int
    cpu_s: float
    brokers_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """What a trial found, for input records."""

    records_per_s: float
    cpu_s_per_million: float
    broker_cores: float = 0.0
    """What the brokers kept busy meanwhile."""


@contextmanager
def running(commands: Sequence[Sequence[str]], log: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of our own, ended when this ends: politely, then by force."""
    children = []
    try:
        for command in commands:
            children.append(spawn(command, log=log))
        yield children
    finally:
        for child in children:
            send(child, signal.SIGTERM)
        for child in children:
            try:
                child.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                send(child, signal.SIGKILL)
                child.wait()


def watch(
    ground: Ground,
    children: Sequence[subprocess.Popen[bytes]],
    sink: str,
    *,
    results: int,
    is_committed: bool,
    patience: Patience,
    log: Path,
) -> list[Sample]:
    """Samples from the first result to the last one, or to the end of our patience."""
    samples: list[Sample] = []
    warm_s = math.inf
    changed_s = time.monotonic() + FIRST_RESULT_TIMEOUT_S - STALL_TIMEOUT_S
    while True:
        now_s = time.monotonic()
        seen = ground.visible(sink, is_committed=is_committed)
        if seen > (samples[-1].results if samples else 0):
            used_s = sum(cpu_s(child.pid) for child in children)
            samples.append(Sample(now_s, seen, used_s, sum(map(cpu_s, ground.broker_pids))))
            changed_s = now_s
            if warm_s == math.inf and is_warm(samples[-1], samples[0], patience, results=results):
                warm_s = now_s
        if seen >= results or now_s > warm_s + patience.measured_s_max:
            return samples
        if any(child.poll() is not None for child in children):
            raise BenchError(f"the process ended before its time; it said: {_tail(log)}")
        if now_s > changed_s + STALL_TIMEOUT_S:
            raise BenchError(
                f"no result in {STALL_TIMEOUT_S:.0f} s after {seen:,} of {results:,}; it said: {_tail(log)}"
            )
        time.sleep(SAMPLE_EVERY_S)


def is_warm(sample: Sample, first: Sample, patience: Patience, *, results: int) -> bool:
    """Whether the warm-up is over."""
    is_long_ago = sample.at_s >= first.at_s + patience.warm_up_s
    return is_long_ago and sample.results >= patience.warm_up_share * results


def speed(samples: Sequence[Sample], patience: Patience, *, results: int, records: int) -> Speed:
    """From samples to a speed, leaving out the warm-up. So many results would come of so many records."""
    warm = [sample for sample in samples if is_warm(sample, samples[0], patience, results=results)]
    if len(warm) < 2:
        warm = list(samples)
    first, last = warm[0], warm[-1]
    if last.cpu_s <= first.cpu_s:
        raise BenchError("all results came at once; take more records")
    done, took_s = (last.results - first.results) * records / results, last.at_s - first.at_s
    return Speed(
        records_per_s=done / took_s,
        cpu_s_per_million=(last.cpu_s - first.cpu_s) / done * 1e6,
        broker_cores=(last.brokers_s - first.brokers_s) / took_s,
    )


def cpu_s(pid: int) -> float:
    """Processor time of a process and of all that it started."""
    try:
        process = psutil.Process(pid)
        times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0.0
    return float(sum(each.user + each.system for each in times))


def _tail(log: Path, lines: int = 8) -> str:
    try:
        return " | ".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "nothing"
