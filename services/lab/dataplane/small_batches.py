"""Measure: what a batch costs beyond its records, by a host whose polls bring so many records at most."""

from services.lab.dataplane.contestants import altered, ours
from services.lab.dataplane.ground import Backlog, Ground
from services.lab.dataplane.throughput import Speeds, compete
from services.lab.dataplane.trial import Patience
from services.lab.dataplane.workloads import FILTER_PROJECT
from services.lab.results import Row

POLL_RECORDS = (1, 10, 100, 1_000)
ALL = "all records a poll"
PATIENCE = Patience(warm_up_s=1.0, measured_s_max=5.0)


def small_batches(ground: Ground, backlog: Backlog, *, repetitions: int) -> list[Row]:
    """Records/s at several sizes of a poll, and from their processor time the cost of a batch."""
    contestants = [
        *(altered(_name(count), "limited_host.py", str(count), patience=PATIENCE) for count in POLL_RECORDS),
        ours(ALL),
    ]
    entries = [(contestant, backlog) for contestant in contestants]
    return rows(compete(ground, entries, repetitions=repetitions, workloads=[FILTER_PROJECT]))


def rows(speeds: Speeds) -> list[Row]:
    """Rates, and costs: what a batch of that size takes more than as many records of large batches, in turns next to
    each other, since the machine's speed changes."""
    workload = FILTER_PROJECT.name
    found = [
        Row.of(f"{workload}: {name}", [one.records_per_s for one in speeds[workload, name]], "records/s")
        for workload, name in speeds
    ]
    whole = speeds.get((workload, ALL), [])
    for count in POLL_RECORDS:
        pairs = list(zip(speeds.get((workload, _name(count)), []), whole, strict=False))
        costs_ms = [(one.cpu_s_per_million - other.cpu_s_per_million) * count / 1e3 for one, other in pairs]
        if costs_ms:
            found.append(Row.of(f"cost of a batch, {_name(count)}", costs_ms, "ms CPU"))
    return found


def _name(count: int) -> str:
    return f"{count:,} record{'s' if count > 1 else ''} a poll"
