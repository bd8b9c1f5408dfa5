"""Scenario: a random life of a small system (flows come and go, hosts and links die and return), checked as it runs.

After every event the host where it happened is checked, and what the witness saw; after every decision of a leader all
that runs (placements, taps, what leaders believe); at rest, that nothing is left behind (decision 328).
Scenario and seed are the whole recipe. A broken invariant names the command that shows it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from placement.ants.params import IMPROVED, AntParams
from placement.chance import Chance, ChanceFor
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.model import Flow, Host, Network, OverlayNetwork
from placement.queueing import UTILISATION_CAP
from placement.simulator.body import Body, Observer
from placement.simulator.faults import lose_host, lose_link, return_host, return_link
from placement.simulator.invariants import BrokenInvariantError, host_faults, rest_faults, system_faults
from placement.simulator.queries import QueryParams, background_load, known, mixed_query, variant
from placement.simulator.trace import both
from placement.simulator.witness import Witness
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub

_MARKET = QueryParams()
_SMALL = TransitStubParams(transit_domains=1, transit_hosts=3, stubs=2, stub_hosts=4)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one random life is made of."""

    seed: int
    flows: int = 6
    variants: int = 2
    """How many of the flows ask nearly the same as another one, so that they can tap it."""
    host_faults: int = 3
    class_faults: int = 0
    """How often all hosts of a failure class die together, and return together."""
    link_faults: int = 3
    load_changes: int = 12
    """Jumps of cross-traffic on random hosts, never above what their promises leave."""
    withdrawals: int = 1
    user_requests: int = 1
    duration_ms: float = 60_000.0
    rest_ms: float = 90_000.0
    """Quiet time at the end, in which everything must come to rest."""
    load: float = 0.3
    queries: QueryParams = _MARKET
    together: bool = False
    """All flows are submitted at the same moment, from few hosts: leaders compete."""
    room: bool = True
    """Whether there is room for all: then every flow must run in the end."""
    network: TransitStubParams = _SMALL
    overlay: bool = False
    """Every host reaches every other directly, as live; else messages are routed, as in the paper."""
    leaders: LeaderParams = IMPROVED_LEADER
    name: str = ""
    """In the table of scenarios, from which a command can run it; empty: made by hand."""

    def __post_init__(self) -> None:
        faults = min(self.host_faults, self.class_faults, self.link_faults, self.load_changes)
        if min(faults, self.flows, self.variants, self.withdrawals, self.user_requests) < 0:
            raise ValueError(f"{self}: give counts of 0 or more")

    @property
    def faults(self) -> int:
        """How often something dies."""
        return self.host_faults + self.class_faults + self.link_faults

    @property
    def command(self) -> str:
        """What shows this run again."""
        if not self.name:
            return f"live({self!r}, seeded({self.seed}))"
        return f"stigmergy simulate life --scenario {self.name} --first-seed {self.seed} --seeds 1"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a life ended."""

    placed: int
    unplaced: int
    moves: int
    lost_messages: int
    control_hops: int
    events: int


def live(
    scenario: Scenario,
    chance: ChanceFor,
    *,
    ants: AntParams = IMPROVED,
    observer: Observer | None = None,
    plant: Callable[[Body], None] | None = None,
) -> Outcome:
    """Run a scenario with the generators of its seed, checked all along. `plant` may put a bug into the body first."""
    rng = chance("life")
    routed = transit_stub(scenario.network, rng=rng)
    network: Network = OverlayNetwork.sparse(routed.hosts, routed.delays_ms) if scenario.overlay else routed
    queries = scenario.queries
    background = [background_load(scenario.load, host.capacity, queries, rng=rng) for host in network.hosts]
    witness = Witness()
    observers = witness if observer is None else both(witness, observer)
    body = witness.body = Body(
        network, chance=chance, ants=ants, leaders=scenario.leaders, background=background, observer=observers
    )

    judged = 0

    def watch(host: str) -> None:
        nonlocal judged
        faults = witness.faults() + host_faults(body, host)
        if judged < len(body.decisions):
            judged = len(body.decisions)
            faults += system_faults(body)
        _demand(scenario, body, faults)

    body.watchman = watch
    if plant is not None:
        plant(body)
    body.acquaint()
    ends = stub_hosts(routed)[:6] if scenario.together else stub_hosts(routed)
    flows = _flows(scenario, ends, rng)
    _schedule(scenario, body, flows, network, rng)
    steps = 20
    for _ in range(steps):
        body.run_for(scenario.duration_ms / steps)
        _demand(scenario, body, witness.faults() + system_faults(body))
    body.run_for(scenario.rest_ms)
    unplaced = _unplaced(body) if scenario.room else []
    _demand(scenario, body, witness.faults() + system_faults(body) + rest_faults(body) + unplaced)
    placed = sum(leader.plan is not None for leader in body.leaders.values())
    return Outcome(
        placed,
        len(body.leaders) - placed,
        sum(leader.epoch for leader in body.leaders.values()) - placed,
        body.lost_messages,
        body.traffic.total_hops,
        body.kernel.events,
    )


def _flows(scenario: Scenario, ends: list[str], rng: Chance) -> list[Flow]:
    queries, variants = scenario.queries, min(scenario.variants, scenario.flows - 1)
    own = scenario.flows - max(0, variants)
    flows = [known(mixed_query(f"f{k}", rng.randint(2, 5), ends, queries, rng=rng)) for k in range(own)]
    return flows + [variant(rng.choice(flows), f"f{own + k}", ends, rng=rng) for k in range(variants)]


def _schedule(scenario: Scenario, body: Body, flows: list[Flow], network: Network, rng: Chance) -> None:
    """Draw what happens when. All that dies returns before the quiet time, and orphaned flows are submitted again."""
    start_ms, end_ms = body.kernel.now_ms, body.kernel.now_ms + scenario.duration_ms
    for flow in flows:
        wait_ms = 0.0 if scenario.together else rng.uniform(0.0, scenario.duration_ms / 4)
        body.kernel.at(start_ms + wait_ms, body.submit, flow)
    for _ in range(scenario.host_faults):
        _lose_for_a_while([rng.choice(network.hosts)], body, (start_ms, end_ms), rng)
    for _ in range(scenario.class_faults):
        failing = rng.choice(sorted({host.failure_class for host in network.hosts}))
        alike = [host for host in network.hosts if host.failure_class == failing]
        _lose_for_a_while(alike, body, (start_ms, end_ms), rng)
    for _ in range(scenario.link_faults):
        a, b = _link(network, rng)
        died_ms = rng.uniform(start_ms, end_ms - 10_000.0)
        body.kernel.at(died_ms, lose_link, body, a, b)
        body.kernel.at(rng.uniform(died_ms, end_ms - 5_000.0), return_link, body, a, b)
    for _ in range(scenario.load_changes):
        host = rng.choice(network.hosts).name
        body.kernel.at(rng.uniform(start_ms, end_ms), _jump, body, host, rng.random())
    gone = rng.sample(flows, min(scenario.withdrawals, len(flows)))
    for flow in gone:
        body.kernel.at(rng.uniform(start_ms + scenario.duration_ms / 2, end_ms), body.withdraw, flow.name)
    for _ in range(scenario.user_requests):
        flow = rng.choice(flows)
        body.kernel.at(rng.uniform(start_ms + scenario.duration_ms / 3, end_ms), body.resubmit, flow)
    for flow in flows:
        if flow not in gone:
            body.kernel.at(end_ms, body.resubmit, flow)


def _lose_for_a_while(hosts: Sequence[Host], body: Body, between_ms: tuple[float, float], rng: Chance) -> None:
    """Hosts die at the same random moment, and return at the same one."""
    start_ms, end_ms = between_ms
    died_ms = rng.uniform(start_ms, end_ms - 10_000.0)
    back_ms = rng.uniform(died_ms, end_ms - 5_000.0)
    for host in hosts:
        body.kernel.at(died_ms, lose_host, body, host.name)
        body.kernel.at(back_ms, return_host, body, host.name)


def _link(network: Network, rng: Chance) -> tuple[str, str]:
    """Two neighbours."""
    place = rng.choice([place for place, near in enumerate(network.neighbours) if near])
    return network.hosts[place].name, network.hosts[rng.choice(network.neighbours[place])].name


def _jump(body: Body, host: str, share: float) -> None:
    """Cross-traffic on a host jumps to a share of what its promises leave."""
    ledger = body.cells[host].ledger
    before = ledger.background
    room = UTILISATION_CAP - (ledger.load().rho - before.rho)
    if before.rho > 0 and room > 0:
        factor = 0.99 * share * room / before.rho  # so many times the work for each message
        body.set_background(host, before._replace(rho=factor * before.rho, square=factor**2 * before.square))


def _unplaced(body: Body) -> list[str]:
    """Flows that do not run at rest, although all hosts are back and there is room for every one."""
    return [f"{name} does not run" for name in sorted(body.leaders) if name not in body.truth.running]


def _demand(scenario: Scenario, body: Body, faults: list[str]) -> None:
    if faults:
        listed = "; ".join(faults[:5])
        raise BrokenInvariantError(f"at {body.kernel.now_ms:.0f} ms: {listed}. See it again: {scenario.command}")
