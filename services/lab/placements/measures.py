"""From a world file to rows: start it, let every strategy have its turn, stop it."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.world import World
from services.embedded.world_file import load_world
from services.embedded.world_hosts import furnish_world
from services.lab.dataplane.ground import Say
from services.lab.placements.contest import ANTS, Contest, Turn
from services.lab.placements.load import Load, Route
from services.lab.results import Row
from services.placement.furnish import furnish_placement
from services.settings import Settings

WORLD_FILE = Path(__file__).with_name("world.yaml")


@dataclass(frozen=True, slots=True)
class Params:
    """How many flows, and how much each of them has to do."""

    world_file: Path = WORLD_FILE
    flows: int = 4
    rate_per_s: float = 50.0
    watch_s: float = 20.0
    settle_s: float = 6.0
    measure_s: float = 10.0
    seed: int = 1

    def __post_init__(self) -> None:
        assert self.flows > 0 < self.rate_per_s, self
        assert min(self.watch_s, self.settle_s, self.measure_s) > 0, self


def measure(params: Params, settings: Settings, *, say: Say) -> list[Row]:
    """Latency of the same flows under each strategy, and how well the model foretold it."""
    world = load_world(params.world_file)

    def furnish(stack: EmbeddedStack) -> None:
        make_topics(stack.bootstrap)
        furnish_world(stack, world)
        furnish_placement(stack)

    say(f"starting {len(world.brokers)} brokers and {len(world.hosts)} hosts")
    with tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True) as folder:
        stack_params = StackParams(
            home=Path(folder) / "stack",
            brokers=len(world.brokers),
            world=world,
            kafka_home=settings.kafka_home,
            cache=settings.cache,
        )
        with EmbeddedStack(stack_params, furnish=furnish) as stack:
            routes = routes_of(world, params.flows, seed=params.seed)
            load = Load(routes, {name: stack.bootstrap_from(name) for name in world.brokers}, params.rate_per_s)
            contest = Contest(
                stack.bootstrap,
                world,
                routes,
                load,
                watch_s=params.watch_s,
                settle_s=params.settle_s,
                measure_s=params.measure_s,
                seed=params.seed,
                say=say,
            )
            contest.prepare()
            load.start()
            try:
                return rows(contest.run())
            finally:
                load.stop()


def routes_of(world: World, count: int, *, seed: int) -> tuple[Route, ...]:
    """Flows between regions that have a broker, drawn by chance; source and sink are never the same."""
    rng = Random(seed)
    return tuple(Route(f"route-{number}", *rng.sample(sorted(world.brokers), 2)) for number in range(count))


def rows(turns: Sequence[Turn]) -> list[Row]:
    """Each strategy's latency, ants' over the others', and the error of the prediction over all flows and turns."""
    means = {turn.strategy: fmean(turn.measured_ms.values()) for turn in turns}
    made = []
    for turn in turns:
        measured = sorted(turn.measured_ms.values())
        made.append(
            Row(
                measure=f"latency of flows, mean of their medians: {turn.strategy}",
                value=means[turn.strategy],
                unit="ms",
                spread=(measured[0], measured[-1]),
                repetitions=len(measured),
            )
        )
    others = {name: mean_ms for name, mean_ms in means.items() if name != ANTS}
    best = min(others, key=lambda name: others[name])
    over_best = [means[ANTS] / others[best]]
    made.append(Row.of("latency: ants over the best other strategy", over_best, "ratio", baseline=best))
    made.append(Row.of("latency: ants over random", [means[ANTS] / others["random"]], "ratio", baseline="random"))
    errors = [
        abs(turn.predicted_ms[flow] - measured_ms) / measured_ms
        for turn in turns
        for flow, measured_ms in turn.measured_ms.items()
        if math.isfinite(turn.predicted_ms[flow])
    ]
    made.append(Row.of("predicted against measured latency, relative error", errors, "share"))
    return made
