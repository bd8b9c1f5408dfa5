"""Faults: hosts and links die and return; how long until the flows concerned run again, and is anything overbooked?

Three kinds of death, each with rows of its own: of a host that runs tasks (the flow goes elsewhere), of a link that
flows send over (messages take another way, or the flow moves; in an overlay a pair of hosts loses its direct way), and
of a host that a flow is pinned to. On a user's network flows begin and end on half of the hosts, so that others can
die. With a producer's host its leader dies too, and the user submits the flow again once the host is back; without its
consumer a flow can only wait.

Flows and foreign work together load some hosts nearly to the cap, so a promise too many would show. Some flows find no
room then, which is no fault of ants: of those that do not run an exact search tells whether they could. Beside the time
stands how much slower a flow stays, because running again may mean running far away. A dead link often leaves a way
around that is as good as any: a flow that gets no faster after it has recovered from nothing, and is counted apart.
"""

import math
from collections.abc import Collection, Sequence
from enum import Enum
from random import Random

from placement.leader_events import Published
from placement.model import Flow, Network, Problem, RoutedNetwork
from placement.queueing import UTILISATION_CAP
from placement.simulator.body import Body
from placement.simulator.faults import DETECTION_MS, lose_host, lose_link, return_host, return_link
from placement.simulator.invariants import promised_rho
from placement.simulator.queries import QueryParams, background_load, mixed_query
from placement.strategies import NoFeasibleHost
from placement.strategies.exact_search import search
from placement.strategies.protocol import StoppedWithoutProof
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.samples import Sample, Statistic, ratio_samples
from services.lab.targets import AtLeast, AtMost

HOSTS_DIED, LINKS_DIED = "hosts that died", "links that died"
ROOM, PERHAPS = "of these with room somewhere", "of these perhaps with room: the search stopped without proof"
FLOWS = 30
WORKLOAD = QueryParams(least_rate_per_ms=0.05, most_rate_per_ms=0.2)
"""Rates at which flows are half of what hosts carry, and some hosts have no room for more."""
CROWDED = 0.9
"""A host that has promised so much has come near the cap."""
FAULT_COUNT = 8
PINNED_COUNT = 3
"""Deaths of producers' and of consumers' hosts, each."""
PAUSE_MS = 20_000.0
LOOK_MS = 50.0
"""How often latency is looked at after a fault."""
MOST_ENDS = 3
"""Of one flow: two producers and a consumer, or the other way round."""
HARMED = 1.1
"""A flow is hit by a dead link if its latency grows by more than this factor."""


class _Room(Enum):
    """Whether there is a place for a flow that does not run."""

    FOUND = "found"
    PERHAPS = "not found, and not ruled out"
    NONE = "ruled out"


class _Life:
    """A system with running flows, in which things die; gathers samples."""

    def __init__(self, trial: Trial) -> None:
        network, ends = trial.network(TransitStubParams(transit_domains=1))
        self.seed = trial.seed
        self.rng = Random(f"{trial.seed}/faults")
        background = [background_load(0.3, host.capacity, WORKLOAD, rng=self.rng) for host in network.hosts]
        ants, leaders = RULES["ants"]
        self.worst_rho = 0.0
        self.overbooked: set[str] = set()
        self.crowded: set[str] = set()
        self.samples: list[Sample] = []
        self.body = Body(
            network, chance=seeded(trial.seed), ants=ants, leaders=leaders, background=background, watchman=self._watch
        )
        self.body.acquaint()
        if trial.topology is not None:  # a generated network has hosts that nothing is pinned to
            ends = self.rng.sample(ends, max(MOST_ENDS, len(ends) // 2))
        self.flows = [
            mixed_query(f"q{k:02}", self.rng.randint(2, 6), ends, WORKLOAD, rng=self.rng) for k in range(FLOWS)
        ]
        for flow in self.flows:
            self.body.submit(flow)
            self.body.run_until_settled()
        self.count("flows that had no place before anything died", float(len(self.flows) - len(self.running())))
        self.pinned = {host for flow in self.flows for host in _ends(flow)}

    def _watch(self, host: str) -> None:
        rho = promised_rho(self.body, host)
        self.worst_rho = max(self.worst_rho, rho)
        if rho >= CROWDED:
            self.crowded.add(host)
        if rho >= UTILISATION_CAP:
            self.overbooked.add(host)

    def took(self, what: str, took_s: float) -> None:
        """A flow runs again after so long."""
        self.samples.append(Sample(f"{what}, mean", took_s, "s", seed=self.seed))
        self.samples.append(Sample(f"{what}, 95th percentile", took_s, "s", None, Statistic.P95, self.seed))

    def slower(self, what: str, before_ms: float, now_ms: float) -> None:
        """A flow runs again, or still, at this latency."""
        if math.isfinite(before_ms) and math.isfinite(now_ms):
            measure = f"{what}: latency 20 s later"
            self.samples += ratio_samples(measure, now_ms / before_ms, seed=self.seed, baseline="before")

    def count(self, what: str, number: float, unit: str = "flows") -> None:
        """So many, in all seeds together."""
        self.samples.append(Sample(what, number, unit, None, Statistic.SUM, self.seed))

    def running(self) -> list[Flow]:
        """The flows whose data get through."""
        return [flow for flow in self.flows if math.isfinite(self.body.latency_ms(flow.name))]

    def judge(self, lost: Collection[str], what: str = "") -> None:
        """Whether there is room for these flows, which do not run."""
        found = [_room(self.body, flow) for flow in self.flows if flow.name in lost]
        self.count(f"{what}{ROOM}", float(found.count(_Room.FOUND)))
        self.count(f"{what}{PERHAPS}", float(found.count(_Room.PERHAPS)))

    def lose_host(self) -> None:
        """A host that runs tasks and that nothing is pinned to."""
        body = self.body
        used = sorted({host for leader in body.leaders.values() for host in leader.running.values()} - self.pinned)
        self.count(HOSTS_DIED, float(bool(used)), "hosts")
        if not used:
            return
        host = self.rng.choice(used)
        hit = [name for name, leader in sorted(body.leaders.items()) if host in leader.running.values()]
        before = {name: body.latency_ms(name) for name in hit}
        died_ms, seen = body.kernel.now_ms, len(body.decisions)
        lose_host(body, host)
        hit = [name for name in hit if _joined(body, name)]
        body.run_for(PAUSE_MS)
        back_ms = {d.plan.flow: at for at, d in reversed(body.decisions[seen:]) if isinstance(d, Published)}
        for name in hit:
            if name in back_ms:
                self.took("time from notice to running again", (back_ms[name] - died_ms - DETECTION_MS) / 1000)
                self.slower("dead host", before[name], body.latency_ms(name))
        lost = [name for name in hit if name not in back_ms]
        self.count("flows hit, ends still joined, that did not run again in 20 s", float(len(lost)))
        self.judge(lost)
        return_host(body, host)
        body.run_for(PAUSE_MS)

    def lose_link(self) -> None:
        """A link that some flow sends over. Recovered: as fast as the flow gets while the link is dead."""
        what = "dead link"
        body = self.body
        links = _used_links(body)
        self.count(LINKS_DIED, float(bool(links)), "links")
        if not links:
            return
        a, b = self.rng.choice(links)
        before = {name: body.latency_ms(name) for name in sorted(body.truth.running)}
        lose_link(body, a, b)
        hit = [name for name, ms in before.items() if body.latency_ms(name) > HARMED * ms and _joined(body, name)]
        seen = {name: [body.latency_ms(name)] for name in hit}
        for _ in range(int(PAUSE_MS / LOOK_MS)):
            body.run_for(LOOK_MS)
            for name in hit:
                seen[name].append(body.latency_ms(name))
        took_s = {name: recovery_s(seen[name]) for name in hit}
        for name, time_s in took_s.items():
            if time_s is not None:
                self.took(f"{what}: time from notice to the latency that a faster flow keeps", time_s)
            self.slower(what, before[name], seen[name][-1])
        lost = [name for name in hit if math.isinf(seen[name][-1])]
        stay = [name for name in hit if took_s[name] is None and name not in lost]
        self.count(f"{what}: flows that became slower, ends still joined", float(len(hit)))
        self.count(f"{what}: of these cut off where they ran", float(sum(math.isinf(seen[name][0]) for name in hit)))
        self.count(f"{what}: of these no faster 20 s later, without a time", float(len(stay)))
        self.count(f"{what}: that did not run again in 20 s", float(len(lost)))
        self.judge(lost, f"{what}: ")
        return_link(body, a, b)
        body.run_for(PAUSE_MS)

    def lose_end(self, what: str, *, leader: bool) -> None:
        """The host of a producer, with its leader, or of a consumer."""
        body = self.body
        running = self.running()
        self.count(f"{what}: hosts that died", float(bool(running)), "hosts")
        if not running:
            return
        flow = self.rng.choice(running)
        host = flow.sources[0].host if leader else flow.sinks[0].host
        hit = [each for each in running if host in _ends(each)]
        lose_host(body, host)
        body.run_for(PAUSE_MS)
        return_host(body, host)
        body.run_for(DETECTION_MS)
        for each in self.flows:
            if each.name not in body.leaders:
                body.submit(each)
        waiting = {each.name for each in hit}
        for look in range(int(PAUSE_MS / LOOK_MS)):
            for name in sorted(waiting):
                if math.isfinite(body.latency_ms(name)):
                    waiting.discard(name)
                    self.took(f"{what}: time from its return noticed to running again", look * LOOK_MS / 1000)
            body.run_for(LOOK_MS)
        self.count(f"{what}: flows hit", float(len(hit)))
        self.count(f"{what}: that did not run again in 20 s", float(len(waiting)))
        self.judge(waiting, f"{what}: ")


def recovery_s(seen: Sequence[float]) -> float | None:
    """Time from notice to the latency that a flow keeps, by looks from the fault on; None: it gets no faster."""
    kept = HARMED * seen[-1]
    if math.isinf(kept) or seen[0] <= kept:
        return None
    looks = next(k for k, ms in enumerate(seen) if ms <= kept)
    return max(0.0, (looks * LOOK_MS - DETECTION_MS) / 1000)


def _faults(trial: Trial) -> list[Sample]:
    life = _Life(trial)
    for _ in range(FAULT_COUNT):
        life.lose_host()
        life.lose_link()
    for _ in range(PINNED_COUNT):
        life.lose_end("dead producer with its leader", leader=True)
        life.lose_end("dead consumer", leader=False)
    broken = {flow.name for flow in life.flows} - {flow.name for flow in life.running()}
    life.count("flows that do not run at the end", float(len(broken)))
    life.judge(broken, "at the end: ")
    life.count("hosts overbooked at any time", float(len(life.overbooked)), "hosts")
    life.count(f"hosts promised to {CROWDED:g} or more at any time", float(len(life.crowded)), "hosts")
    worst = Sample("largest promised load of any host", life.worst_rho, "rho", None, Statistic.MAX, trial.seed)
    return [*life.samples, worst]


def _ends(flow: Flow) -> set[str]:
    return {source.host for source in flow.sources} | {sink.host for sink in flow.sinks}


def _used_links(body: Body) -> list[tuple[str, str]]:
    """The links that running flows send over; of an overlay the pairs of hosts."""
    network, used = body.network, set()
    for name in sorted(body.truth.running):
        leader = body.leaders[name]
        where = {task: network.host_index[host] for task, host in leader.standing.where.items()}
        for edge in leader.flow.graph.edges:
            tail = network.host_index[edge.tail_host] if edge.from_source else where[edge.tail_task]
            head = network.host_index[edge.head_host] if edge.to_sink else where[edge.head_task]
            if math.isfinite(network.delays_ms[tail, head]):
                used |= {tuple(sorted(ends)) for ends in _crossed(network, tail, head)}
    return [(network.hosts[a].name, network.hosts[b].name) for a, b in sorted(used)]


def _crossed(network: Network, tail: int, head: int) -> list[tuple[int, int]]:
    """The ends of each link between two hosts."""
    if isinstance(network, RoutedNetwork):
        return [network.wire_ends[wire] for wire in network.route(tail, head)]
    return [] if tail == head else [(tail, head)]


def _room(body: Body, flow: Flow) -> _Room:
    """Whether an exact search finds a place for a flow that does not run, with all others where they are.

    One that is cut off holds room where it is, and may go there again.
    """
    loads, wires = tuple(body.truth.loads_without(flow.name)), tuple(body.truth.wire_loads)
    alone = Problem(body.network, (flow,), background=loads, wire_background=wires)
    try:
        search(alone, social=True, max_branches=200, gap=1e-3)
    except StoppedWithoutProof:
        return _Room.PERHAPS
    except NoFeasibleHost:
        return _Room.NONE
    return _Room.FOUND


def _joined(body: Body, name: str) -> bool:
    """Whether a flow's ends can still reach each other: a dead transit host cuts whole stubs off, and no host helps.

    In an overlay a task on a third host joins two that have lost their direct way.
    """
    flow, hosts = body.leaders[name].flow, [host.name for host in body.network.hosts]
    return all(
        any(math.isfinite(body.delay_ms(a.host, host) + body.delay_ms(host, b.host)) for host in hosts)
        for a in flow.sources
        for b in flow.sinks
    )


FAULTS = Experiment(
    name="ants/faults",
    question="Hosts and links die and return: how long until flows run again, and is any host overbooked?",
    paper="not in the paper",
    trial=_faults,
    seeds=10,
    reading="That nothing is overbooked says something only where something died, so that is asked for too",
    targets=(
        AtMost("hosts overbooked at any time", 0),
        AtLeast(HOSTS_DIED, 1),
        AtLeast(LINKS_DIED, 1),
    ),
)
