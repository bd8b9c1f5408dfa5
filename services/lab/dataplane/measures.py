"""All measures by name, in the order in which they run, on one broker of their own."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from services.embedded import EmbeddedStack, StackParams
from services.lab.dataplane.contestants import always_there, from_environment
from services.lab.dataplane.environment import environment
from services.lab.dataplane.ground import BenchError, Ground, Say
from services.lab.dataplane.throughput import compete
from services.lab.results import Row


@dataclass(frozen=True, slots=True)
class Params:
    """How much is measured. `only`: names of measures, all if it is empty. `has_jvm`: also those on the JVM."""

    records: int = 2_000_000
    repetitions: int = 3
    seed: int = 1
    only: tuple[str, ...] = ()
    has_jvm: bool = False

    def __post_init__(self) -> None:
        assert self.records > 0, self
        assert self.repetitions > 0, self
        assert set(self.only) <= set(MEASURES), self

    @property
    def chosen(self) -> tuple[str, ...]:
        """The measures to take, in their order."""
        return tuple(name for name in MEASURES if not self.only or name in self.only)


def throughput(ground: Ground, params: Params) -> list[Row]:
    """All contestants, both jobs."""
    contestants = always_there()
    try:
        contestants += from_environment(environment(user_cache_path("stigmergy"), ground.say))
    except BenchError as fault:
        ground.warn(f"Quix Streams and Bytewax are left out: {fault}")
    backlog = ground.backlog(params.records, params.seed)
    return compete(ground, contestants, backlog, repetitions=params.repetitions)


MEASURES: dict[str, Callable[[Ground, Params], list[Row]]] = {
    "throughput": throughput,
}


def measure(params: Params, *, say: Say, warn: Say) -> list[Row]:
    """Start a broker, take the measures, stop everything."""
    say("starting a broker")
    with (
        tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True) as folder,
        EmbeddedStack(StackParams(home=Path(folder) / "stack")) as stack,
    ):
        ground = Ground(stack.bootstrap, Path(folder), say, warn)
        return [row for name in params.chosen for row in MEASURES[name](ground, params)]
