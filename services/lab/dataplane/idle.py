"""Measure: what segments cost that have nothing to do."""

import time
import uuid

import psutil

from services.lab.dataplane.contestants import host_command
from services.lab.dataplane.ground import Ground, wait_until
from services.lab.dataplane.trial import cpu_s, running
from services.lab.dataplane.workloads import FILTER_PROJECT
from services.lab.results import Row
from services.registry.snapshot import read_registry
from services.registry.submit import submit

SEGMENTS = 50
START_TIMEOUT_S = 180.0
SETTLE_S, MEASURED_S = 3.0, 10.0
RESTING_S = 35.0
"""After the 30 s that a source may be silent, tasks rest."""


def idle(ground: Ground, *, partitions: int, repetitions: int) -> list[Row]:
    """Processor and memory of one host with many segments and no input."""
    source, sink = ground.new_topic("source", partitions), ground.new_topic("sink", partitions)
    run_id = uuid.uuid4().hex[:8]
    host = f"idle-{run_id}"
    slots = set()
    for number in range(SEGMENTS):
        ground.say(f"submitting flow {number + 1} of {SEGMENTS}")
        flow = FILTER_PROJECT.flow(f"idle-{run_id}-{number}", source=source, sink=sink)
        slots |= set(submit(ground.bootstrap, flow, hosts=[host]).placements)
    fresh, resting, megabytes = [], [], []
    for repetition in range(repetitions):
        ground.say(f"{SEGMENTS} idle segments of {partitions} partitions, repetition {repetition + 1} of {repetitions}")
        begun_ms = time.time_ns() // 1_000_000

        def all_run(since_ms: int = begun_ms) -> bool:
            statuses = read_registry(ground.bootstrap).statuses
            return all(
                slot in statuses and statuses[slot].state == "running" and statuses[slot].since_ms >= since_ms
                for slot in slots
            )

        with running([host_command(ground, host)], ground.folder / f"{host}.log") as (child,):
            wait_until(all_run, timeout_s=START_TIMEOUT_S, what=f"{len(slots)} tasks run", poll_s=0.5)
            time.sleep(SETTLE_S)
            fresh.append(_share(child.pid))
            time.sleep(RESTING_S)
            resting.append(_share(child.pid))
            megabytes.append(psutil.Process(child.pid).memory_info().rss / 1e6)
    ground.drop_topics(run_id)
    name = f"{SEGMENTS} idle segments of {partitions} partition{'s' if partitions > 1 else ''}"
    return [
        Row.of(f"{name}, CPU", resting, "% of a core"),
        Row.of(f"{name}, CPU just after their start", fresh, "% of a core"),
        Row.of(f"{name}, memory", megabytes, "MB"),
    ]


def _share(pid: int) -> float:
    before_s, begin_s = cpu_s(pid), time.monotonic()
    time.sleep(MEASURED_S)
    return 100 * (cpu_s(pid) - before_s) / (time.monotonic() - begin_s)
