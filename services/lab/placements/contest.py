"""Each strategy has its turn with the same flows on the same hosts. Ants come first, as they would by themselves.

What ants have found is then held (policy `freeze`), and every other strategy's choice is carried out by moves that a
person could ask for. All choose by what hosts have measured; none is told what the world file says. Edges are then led
where it is best for the placement at hand, for all alike: that is the placement service's own work, which would take
its time over it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from statistics import median

from confluent_kafka.admin import AdminClient, NewTopic

from placement.evaluator import evaluate
from placement.leading import LeadingParams, plan_leaders
from placement.model import Placement
from placement.strategies import STRATEGIES, NoFeasibleHost
from services.embedded.world import World as PlayedWorld
from services.host.segment_plan import partitions_of
from services.lab.dataplane.ground import BenchError, wait_until
from services.lab.placements.load import Load, Route
from services.placement.edge_leaders import led_partitions
from services.placement.leadership import BrokerLeadership
from services.placement.situation import KnownFlow
from services.registry.asking import ask, lay_down
from services.registry.changes import submitted
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from services.registry.write import write
from services.whatif.recorded import read_recorded
from services.whatif.world import World, world_of
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

ANTS = "ants"
OTHERS = ("random", "producer", "consumer", "centralised")
TIMEOUT_S = 180.0
LEADING = LeadingParams(gain_ms_min=0.5)
LOOK_S = 1.0
"""A look at the registry takes processor time, too."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one strategy came to: median latency of each flow, as measured and as the model predicts it."""

    strategy: str
    measured_ms: Mapping[str, float]
    predicted_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Contest:
    """`watch_s`: how long ants may look again with measured rates; `settle_s`: how long a placement runs before it is
    measured."""

    bootstrap: str
    world: PlayedWorld
    routes: tuple[Route, ...]
    load: Load
    watch_s: float
    settle_s: float
    measure_s: float
    seed: int
    say: Say

    def prepare(self) -> None:
        """Topics, each led in the region where it is written or read."""
        client = AdminClient({"bootstrap.servers": self.bootstrap})
        nodes = client.describe_cluster(request_timeout=30).result().nodes
        brokers = {str(node.rack): node.id for node in nodes}
        led = {topic: region for route in self.routes for topic, region in route.topics.items()}
        new = [NewTopic(topic, 1, replica_assignment=[[brokers[region]]]) for topic, region in led.items()]
        for made in client.create_topics(new).values():
            made.result(TIMEOUT_S)

    def run(self) -> list[Turn]:
        """All turns."""
        self.say("ants place the flows")
        now_ms = time.time_ns() // 1_000_000
        for route in self.routes:
            entries = submitted(read_registry(self.bootstrap), parse_graph(route.text), route.text, {}, now_ms=now_ms)
            write(self.bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
        self._until(lambda view: _is_placed(view, self.routes), "all flows to be placed by ants")
        time.sleep(self.watch_s)
        for route in self.routes:
            lay_down(self.bootstrap, "flow", route.flow, "freeze")
        self._until(lambda view: _runs_at(view, {}), "all moves of the ants to end")
        turns = [self._turn(ANTS)]
        for name in OTHERS:
            try:
                self._move(STRATEGIES[name]().place(self._world().problem(), rng=Random(self.seed)).placement)
            except NoFeasibleHost as fault:
                raise BenchError(f"{name} finds no placement: {fault}") from fault
            turns.append(self._turn(name))
        return turns

    def _turn(self, name: str) -> Turn:
        self.say(f"{name}: settling")
        asyncio.run(self._lead_edges())
        time.sleep(self.settle_s)
        self.say(f"{name}: measuring")
        seen = self.load.measured(self.measure_s)
        silent = sorted(flow for flow, latencies_ms in seen.items() if not latencies_ms)
        if silent:
            raise BenchError(f"{name}: no results of {', '.join(silent)} in {self.measure_s:.0f} s")
        world = self._world()
        worth = evaluate(world.problem(), world.placement())
        predicted = {flow: worth.of(flow).latency.mean_ms + world.hops_ms[flow] for flow in seen}
        return Turn(name, {flow: median(latencies_ms) for flow, latencies_ms in seen.items()}, predicted)

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

    def _world(self) -> World:
        recorded = read_recorded(self.bootstrap, until_ms=time.time_ns() // 1_000_000)
        return world_of(read_registry(self.bootstrap), recorded)

    def _move(self, placement: Placement) -> None:
        view = read_registry(self.bootstrap)
        for flow, segment, host in placement.spots:
            placed = {slot: each.host for slot, each in view.placements.items() if slot[0] == segment}
            partitions = tuple(sorted(number for (_, number), at in placed.items() if at not in (None, host)))
            if partitions:
                ask(self.bootstrap, "move", flow, segment=segment, partitions=partitions, host=host)
        wanted = {segment: host for _, segment, host in placement.spots}
        self._until(lambda view: _runs_at(view, wanted), "all partitions to have moved")

    def _until(self, condition: Callable[[RegistryView], bool], what: str) -> None:
        wait_until(
            lambda: condition(read_registry(self.bootstrap, catalogue.SEGMENTS_STATUS)),
            timeout_s=TIMEOUT_S,
            what=what,
            poll_s=LOOK_S,
        )


def _known(route: Route, view: RegistryView) -> KnownFlow:
    graph = parse_graph(route.text)
    topics = dict.fromkeys(route.topics, 1)
    partitions = {segment.id: partitions_of(graph, segment, topics) for segment in graph.segments}
    return KnownFlow(view.flows[route.flow], graph, partitions)


def _is_placed(view: RegistryView, routes: tuple[Route, ...]) -> bool:
    segments = {segment.id for route in routes for segment in parse_graph(route.text).segments}
    placed = {slot[0] for slot, each in view.placements.items() if each.host is not None}
    return segments <= placed and _runs_at(view, {})


def _runs_at(view: RegistryView, hosts: Mapping[str, str]) -> bool:
    """Whether all partitions run where the registry says, and the named segments at these hosts."""
    for slot, each in view.placements.items():
        status = view.statuses.get(slot)
        running = status is not None and (status.host, status.epoch, status.state) == (each.host, each.epoch, "running")
        if each.host is not None and not (running and hosts.get(slot[0], each.host) == each.host):
            return False
    return True
