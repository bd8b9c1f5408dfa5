"""Each strategy has its turns with the same flows on the same hosts. Ants come first, as they would by themselves.

What ants have found is then held (policy `freeze`), and every other strategy's choice is carried out by moves that a
person could ask for; in later rounds so is what the ants had found. All choose by what hosts have measured; none is
told what the world file says. Edges are then led where it is best for the placement at hand, for all alike: that is the
placement service's own work, which would take its time over it.

A prediction is made before what it predicts is measured: that of the ants is what their leaders had published, those of
the others what the model says at the moment of choice, and what the flow took beyond the model in the turn before
(decision 0262: leaders do the same). And in every turn leaders are asked right before the measurement what their flows
take where they run by now: that is what people are shown (decision 0352).
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median

import psutil

from placement.evaluator import evaluate
from placement.leading import LeadingParams, plan_leaders
from placement.model import Placement
from placement.strategies import STRATEGIES, NoFeasibleHost
from services.embedded.world import World as PlayedWorld
from services.lab.dataplane.ground import BenchError, wait_until
from services.lab.placements.arriving import arriving, runs_at, under_way
from services.lab.placements.load import Load, Route
from services.lab.placements.topics import make_led_topics
from services.placement.edge_leaders import led_partitions
from services.placement.leadership import BrokerLeadership
from services.placement.situation import KnownFlow
from services.registry.asking import ask, lay_down, wait_answer
from services.registry.changes import submitted
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.told_latency import told_latency
from services.registry.view import RegistryView
from services.registry.write import write
from services.tasks import partitions_of
from services.whatif.recorded import Recorded, read_recorded
from services.whatif.world import World, world_of
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

ANTS = "ants"
OTHERS = ("random", "producer", "consumer", "centralised")
TIMEOUT_S, ANSWER_TIMEOUT_S, WORD_TIMEOUT_S = 180.0, 60.0, 15.0
LEADING = LeadingParams(gain_ms_min=0.5)
LOOK_S = 1.0
"""A look at the registry takes processor time, too."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one strategy came to in a round: median latency of each flow, as predicted before and as measured then.

    `told_ms`: as leaders said right before, once each flow ran there; without those that did not say in time.
    `busy_share`: of the machine's processors, meanwhile. Near 1, latency is mostly the wait for one of them.
    """

    strategy: str
    round: int
    measured_ms: Mapping[str, float]
    predicted_ms: Mapping[str, float]
    busy_share: float
    told_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contest:
    """`watch_s`: how long ants may look again with measured rates; `settle_s`: how long a placement runs before it is
    measured; `rounds`: how many turns each strategy has."""

    bootstrap: str
    world: PlayedWorld
    routes: tuple[Route, ...]
    load: Load
    watch_s: float
    settle_s: float
    measure_s: float
    rounds: int
    seed: int
    say: Say
    warn: Say

    def prepare(self) -> None:
        """Topics, each led in the region where it is written or read."""
        make_led_topics(
            self.bootstrap, {topic: region for route in self.routes for topic, region in route.topics.items()}
        )

    def run(self) -> list[Turn]:
        """All turns. Who begins changes from round to round; in the first one it is the ants.

        A round that can't be brought to its end is told and left out: strategies are compared round by round.
        """
        found, published_ms = self._ants()
        turns: list[Turn] = []
        beyond_ms: dict[str, float] = {}
        for number in range(self.rounds):
            try:
                turns += self._round(number, found, published_ms, beyond_ms)
            except BenchError as fault:
                self.warn(f"round {number + 1} of {self.rounds} is left out: {fault}")
        if not turns:
            raise BenchError("no round came to its end")
        return turns

    def _round(
        self, number: int, found: Placement, published_ms: Mapping[str, float], beyond_ms: dict[str, float]
    ) -> list[Turn]:
        """`beyond_ms`: what flows took beyond the model in the turn before, kept up to date."""
        turns: list[Turn] = []
        names = (ANTS, *OTHERS)
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            title = f"round {number + 1} of {self.rounds}, {name}"
            placement = found if name == ANTS else self._choice(name, Random(f"{self.seed}/{number}"))
            modelled_ms = self._modelled(placement)
            self.say(f"{title}: moving to {_where(placement)}")
            self._move(placement)
            self._settle(title)
            told_ms = self._told(title)
            measured_ms, busy_share = self._measured(title)
            self.say(f"{title}: {', '.join(f'{flow} {each:.1f} ms' for flow, each in sorted(measured_ms.items()))}")
            predicted_ms = published_ms if name == ANTS else _sums(modelled_ms, beyond_ms)
            turns.append(Turn(name, number, measured_ms, predicted_ms, busy_share, told_ms))
            beyond_ms |= {flow: measured_ms[flow] - modelled_ms[flow] for flow in measured_ms}
        return turns

    def _ants(self) -> tuple[Placement, dict[str, float]]:
        """What ants find, and what their leaders predict of it."""
        self.say("ants place the flows")
        now_ms = time.time_ns() // 1_000_000
        for route in self.routes:
            entries = submitted(read_registry(self.bootstrap), parse_graph(route.text), route.text, {}, now_ms=now_ms)
            write(self.bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
        self._until(lambda view: _is_placed(view, self.routes), "all flows to be placed by ants")
        # Leaders learn from what hosts measure: half of the time with edges as they will be led in all turns.
        time.sleep(self.watch_s / 2)
        asyncio.run(self._lead_edges())
        time.sleep(self.watch_s / 2)
        self.say("ants look once more, with what has been measured by now")
        asked = [ask(self.bootstrap, "propose", route.flow) for route in self.routes]
        for request in asked:
            try:
                wait_answer(self.bootstrap, request, timeout_s=ANSWER_TIMEOUT_S, whom="no leader")
            except RegistryError:
                self.say("a leader gives no answer; what it has published before counts")
        for route in self.routes:
            lay_down(self.bootstrap, "flow", route.flow, "freeze")
        time.sleep(LOOK_S)  # what a leader decided before is carried out at once, and nothing after
        self._until(lambda view: runs_at(view, {}) and not under_way(view), "all moves of the ants to end")
        view = read_registry(self.bootstrap, catalogue.DECISIONS)
        return world_of(view, self._recorded()).placement(), published(view, [route.flow for route in self.routes])

    def _choice(self, name: str, rng: Random) -> Placement:
        """Where a strategy puts the flows."""
        try:
            return STRATEGIES[name]().place(self._world().problem(), rng=rng).placement
        except NoFeasibleHost as fault:
            raise BenchError(f"{name} finds no placement: {fault}") from fault

    def _modelled(self, placement: Placement) -> dict[str, float]:
        """What the model says of it now, before anything moves."""
        world = self._world()
        worth = evaluate(world.problem(), placement)
        return {flow: worth.of(flow).latency.mean_ms + world.hops_ms[flow] for flow in world.flows}

    def _world(self) -> World:
        return world_of(read_registry(self.bootstrap), self._recorded())

    def _settle(self, title: str) -> None:
        """Edges led as is best, and everything at rest."""
        self.say(f"{title}: settling")
        asyncio.run(self._lead_edges())
        time.sleep(self.settle_s)

    def _told(self, title: str) -> dict[str, float]:
        """What each leader says of its flow where that runs now, if it knows of that and answers in time."""
        flows = [route.flow for route in self.routes]
        deadline_s = time.monotonic() + WORD_TIMEOUT_S
        while not (knowing := know_where(read_registry(self.bootstrap), flows)) >= set(flows):
            if time.monotonic() > deadline_s:
                break
            time.sleep(LOOK_S)
        self.say(f"{title}: asking leaders what they predict")
        asked = {flow: ask(self.bootstrap, "propose", flow) for flow in sorted(knowing)}
        found: dict[str, float] = {}
        for flow, request in asked.items():
            try:
                said = wait_answer(self.bootstrap, request, timeout_s=WORD_TIMEOUT_S, whom="no leader")
            except RegistryError:
                continue
            if said.kind in ("kept", "proposed") and (word := told_latency(said)) is not None:
                found[flow] = word.latency_ms
        return found

    def _measured(self, title: str) -> tuple[dict[str, float], float]:
        """The median latency of each flow where it runs now, and how busy the machine was."""
        self.say(f"{title}: measuring")
        psutil.cpu_percent()  # from here on
        seen = self.load.measured(self.measure_s)
        busy_share = psutil.cpu_percent() / 100
        silent = sorted(flow for flow, latencies_ms in seen.items() if not latencies_ms)
        if silent:
            raise BenchError(f"{title}: no results of {', '.join(silent)} in {self.measure_s:.0f} s")
        return {flow: median(latencies_ms) for flow, latencies_ms in seen.items()}, busy_share

    async def _lead_edges(self) -> None:
        """Let the best broker lead each partition of each edge, by what the world plays."""
        view = read_registry(self.bootstrap)
        owners = {slot: each.host for slot, each in view.placements.items() if each.host is not None}
        regions = {name: host.region for name, host in view.hosts.items()}
        leadership = BrokerLeadership(self.bootstrap)
        try:
            led, brokers = await leadership.led(), await leadership.regions()
            edges = [at for route in self.routes for at in led_partitions(_known(route, view), owners, regions, led)]
            moves = plan_leaders(edges, brokers, self.world.round_trip_ms, LEADING)
            failed = [end for end in (await leadership.carry_out(moves) if moves else []) if end.failure]
            if failed:
                raise BenchError(f"{failed[0].move.topic} could not be led where it should: {failed[0].failure}")
        finally:
            await leadership.close()

    def _recorded(self) -> Recorded:
        return read_recorded(self.bootstrap, until_ms=time.time_ns() // 1_000_000)

    def _move(self, placement: Placement) -> None:
        """By requests as a person makes them; a move that was refused or came to nothing is asked for again."""
        wanted = {segment: (flow, host) for flow, segment, host in placement.spots}
        self._until(arriving(self.bootstrap, wanted), "all partitions to have moved")

    def _until(self, condition: Callable[[RegistryView], bool], what: str) -> None:
        wait_until(
            lambda: condition(read_registry(self.bootstrap, catalogue.SEGMENTS_STATUS, catalogue.MOVES)),
            timeout_s=TIMEOUT_S,
            what=what,
            poll_s=LOOK_S,
        )


def published(view: RegistryView, flows: Sequence[str]) -> dict[str, float]:
    """The latency that each flow's leader has published last for where it runs. A plan counts if it was carried out."""
    found: dict[str, tuple[int, float]] = {}
    carried_out = {(each.flow, each.plan) for each in view.placements.values() if each.host is not None}
    for each in view.decisions.values():
        told = told_latency(each)
        is_now = each.kind != "planned" or (each.flow, each.plan) in carried_out
        if each.flow is not None and each.flow in flows and told is not None and is_now:
            found[each.flow] = max(found.get(each.flow, (0, 0.0)), (each.decided_ms, told.latency_ms))
    return {flow: latency_ms for flow, (_, latency_ms) in found.items()}


def know_where(view: RegistryView, flows: Sequence[str]) -> set[str]:
    """Flows whose newest plan says where they run, so that what their leaders tell is of there."""
    known = set()
    for flow in flows:
        placed = [each for each in view.placements.values() if each.flow == flow and each.host is not None]
        plan = view.plans.get(flow)
        if plan is not None and placed and all(plan.hosts.get(each.segment) == each.host for each in placed):
            known.add(flow)
    return known


def _where(placement: Placement) -> str:
    """In words: each flow's hosts, segment by segment."""
    hosts: dict[str, list[str]] = {}
    for flow, segment, host in placement.spots:
        hosts.setdefault(flow, []).append(f"{segment} {host}")
    return "; ".join(f"{flow}: {', '.join(each)}" for flow, each in sorted(hosts.items()))


def _sums(modelled_ms: Mapping[str, float], beyond_ms: Mapping[str, float]) -> dict[str, float]:
    return {flow: each_ms + beyond_ms.get(flow, 0.0) for flow, each_ms in modelled_ms.items()}


def _known(route: Route, view: RegistryView) -> KnownFlow:
    graph = parse_graph(route.text)
    topics = dict.fromkeys(route.topics, 1)
    partitions = {segment.id: partitions_of(graph, segment, topics) for segment in graph.segments}
    return KnownFlow(view.flows[route.flow], graph, partitions)


def _is_placed(view: RegistryView, routes: tuple[Route, ...]) -> bool:
    segments = {segment.id for route in routes for segment in parse_graph(route.text).segments}
    placed = {slot[0] for slot, each in view.placements.items() if each.host is not None}
    return segments <= placed and runs_at(view, {})
