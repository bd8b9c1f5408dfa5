"""From a seed to all that will happen: flow, delivery, hosts, records, faults and their instants."""

import random
from dataclasses import dataclass

from tests.chaos.feed import BEGIN_MS, FUTURE_MS, Piece, pieces
from tests.chaos.flows import CASES, Case

FEED_S = 4.0
HOSTS = ("h1", "h2", "h3")
BROKER = "broker"
REDIS = "redis"
INPUT = "input"

WEIGHTS = {
    "kill": 4,  # kill -9 of a host, which comes back
    "kill and move": 4,  # its partitions go to others before it comes back
    "stop": 1,  # SIGTERM: it drains
    "freeze": 3,  # SIGSTOP, later SIGCONT
    "long freeze": 1,  # until its transactions have timed out
    "freeze and move": 4,  # it wakes up with an old epoch
    "move": 2,  # of partitions of a healthy host
    "broker kill": 3,
    "redis gone": 1,
    "slow sink": 2,  # the broker takes writes in gulps
    "slow operator": 2,
    "disk full": 2,  # no file of a host can grow
    "clock jump": 2,
    "poison": 3,
}
LASTS_S = {
    "redis gone": (0.5, 1.5),
    "slow sink": (1.0, 2.0),
    "slow operator": (0.5, 2.0),
    "move": (0.0, 0.0),
    "long freeze": (11.0, 17.0),
}
LASTS_S_ELSE = (0.3, 2.0)
AHEAD_SHARE = 0.25
CLOCK_JUMPS_S = (-30 * 86_400, -3_600, -20, 20, 3_600, 30 * 86_400)


@dataclass(frozen=True)
class Fault:
    """`target`: a host, the broker, Redis or the input. `choice`: chance for whatever else it has to choose."""

    kind: str
    target: str
    at_s: float
    lasts_s: float
    choice: int

    def __str__(self) -> str:
        return f"{self.at_s:.2f} s {self.kind} ({self.target}, {self.lasts_s:.2f} s)"


@dataclass(frozen=True)
class Scenario:
    """All that a seed says."""

    seed: int
    case: Case
    delivery: str
    partitions: int
    hosts: tuple[str, ...]
    standbys: bool
    state: str
    faults: tuple[Fault, ...]
    fed: tuple[Piece, ...]
    is_ahead: bool = False
    """Whether event times are of the far future, and sinks carry them as users' sinks do by default."""

    def __str__(self) -> str:
        shape = f"{len(self.hosts)} hosts{' with standbys' if self.standbys else ''}, {self.partitions} partitions"
        ahead = ", of the future" if self.is_ahead else ""
        faults = "; ".join(map(str, self.faults))
        return f"{self.case.name}, {self.delivery}, {shape}, state on {self.state}{ahead}: {faults}"


def scenario(seed: int) -> Scenario:
    """The same for the same seed."""
    rng = random.Random(seed)
    is_ahead = random.Random(f"times/{seed}").random() < AHEAD_SHARE
    case = rng.choice(CASES)
    hosts = HOSTS[: rng.choice((2, 3))]
    partitions = rng.choice((1, 2, 3))
    faults = _faults(rng, case, hosts)
    fed = pieces(
        rng.randrange(2**32),
        case.sources,
        partitions=partitions,
        records=rng.randrange(800, 2_000),
        lasts_s=FEED_S,
        poison_at_s=[fault.at_s for fault in faults if fault.kind == "poison"],
        begin_ms=FUTURE_MS if is_ahead else BEGIN_MS,
    )
    delivery = rng.choice(("at_least_once", "exactly_once"))
    standbys = rng.random() < 0.4
    needs_disk = any(fault.kind == "disk full" for fault in faults)
    state = "disk" if needs_disk else rng.choice(("memory", "disk"))
    return Scenario(seed, case, delivery, partitions, hosts, standbys, state, faults, tuple(fed), is_ahead)


def _faults(rng: random.Random, case: Case, hosts: tuple[str, ...]) -> tuple[Fault, ...]:
    """Two to five, of which those on one target follow each other."""
    free_s: dict[str, float] = {}
    drawn = []
    count = rng.choice((2, 3, 4, 5))
    for i in range(count):
        kind = rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
        if kind == "slow operator" and not case.has_gate:
            kind = "slow sink"
        target = _target(rng, kind, hosts)
        at_s = max(FEED_S * (i + rng.random()) / count, free_s.get(target, 0.0))
        lasts_s = rng.uniform(*LASTS_S.get(kind, LASTS_S_ELSE))
        free_s[target] = at_s + lasts_s + 0.3
        drawn.append(Fault(kind, target, min(at_s, FEED_S) if target == INPUT else at_s, lasts_s, rng.randrange(2**32)))
    return tuple(drawn)


def _target(rng: random.Random, kind: str, hosts: tuple[str, ...]) -> str:
    if kind in ("broker kill", "slow sink"):
        return BROKER
    if kind == "redis gone":
        return REDIS
    if kind in ("poison", "slow operator"):
        return INPUT
    return rng.choice(hosts)
