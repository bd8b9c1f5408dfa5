"""All measures by name, in the order in which they run, on one broker of their own."""

from collections.abc import Callable
from dataclasses import dataclass

from services.lab.dataplane.backlog import backlog
from services.lab.dataplane.contestants import (
    BARE_LOOP,
    BARE_LOOP_TUNED,
    BYTEWAX,
    OURS,
    PLAIN_FAUST,
    QUIX,
    altered,
    always_there,
    from_environment,
    ours,
)
from services.lab.dataplane.environment import environment
from services.lab.dataplane.ground import BenchError, Ground, Say
from services.lab.dataplane.idle import idle
from services.lab.dataplane.jvm import BACKLOG_ROUNDS, PROGRAMS, on_jvm
from services.lab.dataplane.latency import latency
from services.lab.dataplane.metering import metering, shares
from services.lab.dataplane.recovery import recovery
from services.lab.dataplane.small_batches import small_batches
from services.lab.dataplane.stack import bench_ground
from services.lab.dataplane.throughput import compete, ratios, rows
from services.lab.dataplane.two_hosts import two_hosts
from services.lab.dataplane.workloads import FILTER_PROJECT, PARTITIONS, SCORE
from services.lab.results import Row
from services.settings import Settings

SIDES = (BARE_LOOP, BARE_LOOP_TUNED, PLAIN_FAUST, QUIX, BYTEWAX, *PROGRAMS)


@dataclass(frozen=True, slots=True)
class Params:
    """How much is measured. `only`: names of measures, all if it is empty. `has_jvm`: also those on the JVM.

    `sides`: whom hosts compete with in `throughput`, all if it is empty.
    """

    records: int = 2_000_000
    repetitions: int = 3
    seed: int = 1
    only: tuple[str, ...] = ()
    has_jvm: bool = False
    backlog_gb: float = 1.0
    sides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.records > 0, self
        assert self.repetitions > 0, self
        assert set(self.only) <= set(MEASURES), self
        assert set(self.sides) <= set(SIDES), self
        assert self.has_jvm or not set(self.sides) & set(PROGRAMS), self

    @property
    def chosen(self) -> tuple[str, ...]:
        """The measures to take, in their order."""
        return tuple(name for name in MEASURES if not self.only or name in self.only)

    def is_wanted(self, side: str) -> bool:
        """Whether a side takes part."""
        return not self.sides or side in self.sides


def _throughput(ground: Ground, params: Params) -> list[Row]:
    contestants = always_there()
    if any(map(params.is_wanted, (QUIX, BYTEWAX))):
        try:
            contestants += from_environment(environment(ground.cache, ground.say))
        except BenchError as fault:
            ground.warn(f"Quix Streams and Bytewax are left out: {fault}")
    backlog = ground.backlog(params.records, params.seed)
    entries = [(each, backlog) for each in contestants if each.name == OURS or params.is_wanted(each.name)]
    slow_starters = [name for name in PROGRAMS if params.has_jvm and params.is_wanted(name)]
    if slow_starters:
        long_backlog = ground.backlog(params.records, params.seed, rounds=BACKLOG_ROUNDS)
        entries += [(contestant, long_backlog) for contestant in on_jvm(ground, slow_starters)]
    speeds = compete(ground, entries, repetitions=params.repetitions)
    names = [contestant.name for contestant, _ in entries if contestant.name != OURS]
    return [*rows(speeds), *(row for name in names for row in ratios(speeds, OURS, name))]


def _delivery(ground: Ground, params: Params) -> list[Row]:
    backlog = ground.backlog(params.records, params.seed)
    once, again = ours("exactly_once", delivery="exactly_once"), ours("at_least_once")
    speeds = compete(ground, [(once, backlog), (again, backlog)], repetitions=params.repetitions)
    return [*rows(speeds), *ratios(speeds, once.name, again.name)]


def _hosts(ground: Ground, params: Params) -> list[Row]:
    workloads = (FILTER_PROJECT, SCORE)
    backlog = ground.backlog(params.records, params.seed, workloads=workloads)
    return two_hosts(ground, backlog, workloads, repetitions=params.repetitions)


def _metrics(ground: Ground, params: Params) -> list[Row]:
    backlog = ground.backlog(params.records, params.seed)
    shipped, silent = ours("with metrics"), altered("without metrics", "silent_host.py")
    speeds = compete(ground, [(shipped, backlog), (silent, backlog)], repetitions=params.repetitions)
    counted = shares(ground, backlog, repetitions=params.repetitions)
    return [*rows(speeds), *ratios(speeds, shipped.name, silent.name), *counted, *metering(params.repetitions)]


def _small_batches(ground: Ground, params: Params) -> list[Row]:
    return small_batches(ground, ground.backlog(params.records, params.seed), repetitions=params.repetitions)


def _latency(ground: Ground, params: Params) -> list[Row]:
    return latency(ground, repetitions=params.repetitions)


def _recovery(ground: Ground, params: Params) -> list[Row]:
    return recovery(ground, keys=params.records // 2, repetitions=params.repetitions)


def _idle(ground: Ground, params: Params) -> list[Row]:
    return [row for count in (1, PARTITIONS) for row in idle(ground, partitions=count, repetitions=params.repetitions)]


def _backlog(ground: Ground, params: Params) -> list[Row]:
    return backlog(ground, gigabytes=params.backlog_gb)


MEASURES: dict[str, Callable[[Ground, Params], list[Row]]] = {
    "throughput": _throughput,
    "delivery": _delivery,
    "batches": _small_batches,
    "metrics": _metrics,
    "latency": _latency,
    "recovery": _recovery,
    "idle": _idle,
    "hosts": _hosts,
    "backlog": _backlog,
}


def measure(params: Params, settings: Settings, *, say: Say, warn: Say) -> list[Row]:
    """Start a broker, take the measures, stop everything. A measure that fails is left out, and said so."""
    rows_found: list[Row] = []
    with bench_ground(settings, say=say, warn=warn) as ground:
        for name in params.chosen:
            try:
                rows_found += MEASURES[name](ground, params)
            except BenchError as fault:
                warn(f"{name} is left out: {fault}")
    return rows_found
