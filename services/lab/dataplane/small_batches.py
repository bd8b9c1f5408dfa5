"""Measure: what a batch costs beyond its records, by a host whose polls bring so many records at most."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from services.lab.dataplane.contestants import altered, ours
from services.lab.dataplane.ground import Backlog, BenchError, Ground
from services.lab.dataplane.throughput import compete, contend
from services.lab.dataplane.trial import Patience
from services.lab.dataplane.turns import Turn, read
from services.lab.dataplane.workloads import FILTER_PROJECT
from services.lab.results import Row

POLL_RECORDS = (1, 10, 100, 1_000)
ALL = "all records a poll"
PATIENCE = Patience(warm_up_s=1.0, measured_s_max=5.0)
IN_TURN = Patience(measured_s_max=12.0)
WARM_UP_TURNS = 2


def small_batches(ground: Ground, backlog: Backlog, *, repetitions: int) -> list[Row]:
    """Records/s at several sizes of a poll, and what a poll of each size costs beyond its records."""
    contestants = [
        *(altered(_name(count), "limited_host.py", str(count), patience=PATIENCE) for count in POLL_RECORDS),
        ours(ALL),
    ]
    entries = [(contestant, backlog) for contestant in contestants]
    speeds = compete(ground, entries, repetitions=repetitions, workloads=[FILTER_PROJECT])
    rates = [
        Row.of(f"{workload}: {name}", [one.records_per_s for one in found], "records/s")
        for (workload, name), found in speeds.items()
    ]
    costs: dict[int, list[float]] = {count: [] for count in POLL_RECORDS}
    for number in range(repetitions):
        for count in POLL_RECORDS:
            ground.say(f"{_name(count)} and all, in turn, repetition {number + 1} of {repetitions}")
            if found := costs_ms(_turns(ground, backlog, count), count):
                costs[count].append(median(found))
    told = [Row.of(f"cost of a batch, {_name(count)}", each, "ms CPU") for count, each in costs.items() if each]
    return [*rates, *told]


def costs_ms(turns: Sequence[Turn], count: int) -> list[float]:
    """Of each poll of so many records, by turns next to each other, when the host is warm."""
    found = []
    for one, other in pairwise(turns[WARM_UP_TURNS:]):
        limited, whole = (one, other) if one.is_limited else (other, one)
        if limited.records and whole.records:
            beyond_s = limited.cpu_s / limited.records - whole.cpu_s / whole.records
            found.append(beyond_s * count * 1e3)
    return found


def _turns(ground: Ground, backlog: Backlog, count: int) -> list[Turn]:
    file = ground.folder / "turns"
    file.unlink(missing_ok=True)
    contend(
        ground,
        altered("in turn", "alternating_host.py", str(count), str(file), patience=IN_TURN),
        FILTER_PROJECT,
        backlog,
    )
    try:
        return read(file)
    except FileNotFoundError:
        raise BenchError("the host ended without telling what its turns took") from None


def _name(count: int) -> str:
    return f"{count:,} record{'s' if count > 1 else ''} a poll"
