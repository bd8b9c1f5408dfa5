"""From a world file to rows: start it, let every strategy have its turn, stop it."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """How many flows, and how much each of them has to do: about what two cores carry beside twelve hosts.

    `watch_s`: brokers and hosts get quicker for about a minute, and whoever is measured before would pay for that.
    """

    world_file: Path = WORLD_FILE
    flows: int = 2
    rate_per_s: float = 5.0
    watch_s: float = 60.0
    settle_s: float = 6.0
    measure_s: float = 10.0
    rounds: int = 3
    seed: int = 1

    def __post_init__(self) -> None:
        assert min(self.flows, self.rounds) > 0 < self.rate_per_s, self
        assert min(self.watch_s, self.settle_s, self.measure_s) > 0, self


def measure(params: Params, settings: Settings, *, say: Say, warn: Say) -> list[Row]:
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
                rounds=params.rounds,
                seed=params.seed,
                say=say,
                warn=warn,
            )
            contest.prepare()
            load.start()
            try:
                return rows(contest.run())
            finally:
                load.stop()


def routes_of(world: World, count: int, *, seed: int) -> tuple[Route, ...]:
    """Flows between regions that have a broker, drawn by chance; source and sink are never the same.

    Every second one has three segments, the others two.
    """
    rng = Random(seed)
    made = []
    for number in range(count):
        source, sink = rng.sample(sorted(world.brokers), 2)
        made.append(Route(f"route-{number}", source, sink, is_long=number % 2 == 1))
    return tuple(made)


def rows(turns: Sequence[Turn]) -> list[Row]:
    """Each strategy's latency, ants' over the others' round by round, and the errors of what was predicted."""
    means: dict[str, list[float]] = {}
    for turn in sorted(turns, key=lambda turn: turn.round):
        means.setdefault(turn.strategy, []).append(fmean(turn.measured_ms.values()))
    ants = means[ANTS]
    made = [
        Row.of(f"latency of flows, mean of their medians: {name}", means_ms, "ms") for name, means_ms in means.items()
    ]
    best = min((name for name in means if name != ANTS), key=lambda name: fmean(means[name]))
    for measure, name in (
        ("latency: ants over the best other strategy", best),
        ("latency: ants over random", "random"),
    ):
        shares = [mine_ms / other_ms for mine_ms, other_ms in zip(ants, means[name], strict=True)]
        made.append(Row.of(measure, shares, "ratio", baseline=name))
    made.append(Row.of("processors in use while latency was measured", [turn.busy_share for turn in turns], "share"))
    told = errors([replace(turn, predicted_ms=turn.told_ms) for turn in turns])
    if told:
        made.append(
            Row.of("latency as leaders told it where flows ran against measured, relative error", told, "share")
        )
    published = errors([turn for turn in turns if turn.strategy == ANTS])
    if published:
        made.append(Row.of("latency as leaders had published it against measured, relative error", published, "share"))
    chosen = errors([turn for turn in turns if turn.strategy != ANTS])
    if chosen:
        made.append(
            Row.of("latency as the model had it before a move against measured, relative error", chosen, "share")
        )
    return made


def errors(turns: Sequence[Turn]) -> list[float]:
    """Of each flow in each turn that was predicted: how far off, as a share of what was measured."""
    return [
        abs(turn.predicted_ms[flow] - measured_ms) / measured_ms
        for turn in turns
        for flow, measured_ms in turn.measured_ms.items()
        if math.isfinite(turn.predicted_ms.get(flow, math.nan))
    ]
