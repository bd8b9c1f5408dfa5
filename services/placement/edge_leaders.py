"""Which brokers lead the edges of the flows that run: looked at now and then, and put right where it is worth it.

Hosts tell how far they are from each broker. `placement.leading` decides by that and by where the segments run;
`leadership` carries it out, and each move is a decision on its flow that people can see. It pauses a partition as a
move of the partition does, and is held to what the flow allows for both.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

import structlog

from placement.leading import LeaderMove, LeadingParams, LedPartition, plan_leaders
from placement.moves import spent
from services.host.cell.delays import BROKER_PEER
from services.host.cell.tail import Tail
from services.placement.carriage import from_record
from services.placement.leader_pauses import LEADER_PAUSE_MS, MOVED, REFUSED, leader_pauses
from services.placement.leadership import BrokerLeadership, LeaderMoved, Led
from services.placement.situation import KnownFlow, Situation
from services.registry.changes import Entry
from services.registry.decisions import decision
from topics import catalogue
from topics.flow.graph import Edge, FlowGraph, Segment
from topics.messages import Decision, LinkMetrics, Message
from topics.names import edge_topic

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 15.0
REST_MS = 120_000
"""A partition that got another leader keeps it for so long, also under the next active instance."""
MOVES_MAX = 8
"""At once: each pauses its partition for some tenths of a second."""
BACK_MS = 30_000.0


@dataclass(slots=True)
class BrokerDistances:
    """Round trips between regions and brokers, as hosts tell them. `regions`: of the live brokers."""

    regions: dict[int, str] = field(default_factory=dict)
    _told_ms: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)

    def heard(self, row: LinkMetrics, region: str) -> None:
        """A host of this region has measured a broker."""
        number = row.peer.removeprefix(BROKER_PEER)
        if number != row.peer and number.isdecimal() and row.round_trip_ms.count:
            self._told_ms.setdefault((region, int(number)), {})[row.host] = row.round_trip_ms.quantile(0.5)

    def trip_ms(self, a: str, b: str) -> float:
        """Between two regions of which one has a broker. Raises KeyError while nobody has measured it."""
        for region, other in ((a, b), (b, a)):
            told = [
                median(self._told_ms[region, broker].values())
                for broker, place in self.regions.items()
                if place == other and (region, broker) in self._told_ms
            ]
            if told:
                return min(told)
        raise KeyError((a, b))


def led_partitions(
    known: KnownFlow,
    owners: Mapping[tuple[str, int], str],
    regions: Mapping[str, str],
    led: Mapping[tuple[str, int], Led],
) -> Iterator[LedPartition]:
    """The partitions of a flow's edges with their writers and reader. `owners`: hosts of slots; `regions`: of hosts."""
    for topic, segment, edge in _edges(known):
        writer = _writer(known.graph, edge).id
        for (name, partition), (leader, replicas) in sorted(led.items()):
            reader = owners.get((segment, partition))
            if name == topic and reader is not None and reader in regions:
                # After a re-key every task of the segment before writes to every partition.
                numbers = range(known.partitions[writer]) if edge.rekey else (partition,)
                shares = _writers(numbers, writer, owners, regions)
                yield LedPartition(topic, partition, replicas, leader, shares, regions[reader])


def _edges(known: KnownFlow) -> Iterator[tuple[str, str, Edge]]:
    """The edges between a flow's segments, each with its topic and the segment that reads it."""
    for segment in known.graph.segments:
        for edge in segment.inputs:
            if edge.kind in ("rekey", "handover"):
                yield edge_topic(known.graph.spec.name, edge.stream, edge.target, edge.port_number), segment.id, edge


def _writer(graph: FlowGraph, edge: Edge) -> Segment:
    return next(segment for segment in graph.segments if edge.upstream in segment.operators)


def _writers(
    numbers: Iterable[int], writer: str, owners: Mapping[tuple[str, int], str], regions: Mapping[str, str]
) -> tuple[tuple[str, float], ...]:
    """The regions of these tasks of the writing segment, each with its share of them."""
    hosts = [owners.get((writer, number)) for number in numbers]
    places = [regions[host] for host in hosts if host is not None and host in regions]
    return tuple((place, places.count(place) / len(places)) for place in sorted(set(places)))


def moved_lately(decisions: Iterable[Decision], *, now_ms: int) -> set[tuple[str, int]]:
    """The partitions whose leaders were changed, or were tried to be, less than the time of rest ago."""
    return {
        (str(each.evidence["topic"]), int(each.evidence["partition"]))
        for each in decisions
        if each.kind in (MOVED, REFUSED) and {"topic", "partition"} <= each.evidence.keys()
        if now_ms - each.decided_ms < REST_MS
    }


@dataclass(frozen=True, slots=True)
class _Due:
    """A move, the flow whose edge it is of, and the segment that reads it."""

    move: LeaderMove
    flow: str
    segment: str


class EdgeLeaders:
    """`run` in the background; `take_told` gives the decisions since it was last asked.

    `term` is that of the lease under which this instance acts at this moment; None if it does not. `window_ms`: over so
    long a flow's pauses are added up.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        by: str,
        situation: Callable[[], Situation],
        term: Callable[[], int | None],
        window_ms: int,
    ) -> None:
        self._bootstrap = bootstrap
        self._by = by
        self._situation = situation
        self._term = term
        self._window_ms = window_ms
        self._distances = BrokerDistances()
        self._rows: dict[tuple[str, str], LinkMetrics] = {}
        """The last of each host and broker since the last round."""
        self._decided: list[Decision] = []
        """Our own, which the registry may not show yet."""
        self._told: list[Entry] = []

    def take_told(self) -> list[Entry]:
        """What was decided, to be written down."""
        told, self._told = self._told, []
        return told

    async def run(self) -> None:
        """Until cancelled."""
        tail = Tail(
            self._bootstrap,
            [catalogue.METRICS_LINKS],
            client_id=f"stig.placement.{self._by}.links",
            back_ms=BACK_MS,
            on_row=self._heard,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(tail.run(now_ms=lambda: time.time() * 1e3))
            group.create_task(self._look())

    def _heard(self, row: Message, _appended_ms: float) -> None:
        if isinstance(row, LinkMetrics) and row.peer.startswith(BROKER_PEER):
            self._rows[row.host, row.peer] = row

    async def _look(self) -> None:
        leadership = BrokerLeadership(self._bootstrap)
        try:
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                term = self._term()
                if term is None:
                    continue
                try:
                    await self._round(leadership, term)
                except Exception as error:  # noqa: BLE001 - flows do without it: what goes wrong here must not end more
                    log.warning("leaders of edges stay as they are", error=repr(error))
        finally:
            await leadership.close()

    async def _round(self, leadership: BrokerLeadership, term: int) -> None:
        self._distances.regions = await leadership.regions()
        if len(self._distances.regions) < 2:
            return
        situation = self._situation()
        self._measured(situation)
        due = {(each.move.topic, each.move.partition): each for each in self._due(situation, await leadership.led())}
        if not due:
            return
        moves = [each.move for each in due.values()]
        for end in await leadership.carry_out(moves, may_act=lambda: self._term() == term):
            self._tell(end, due[end.move.topic, end.move.partition])

    def _measured(self, situation: Situation) -> None:
        """Take in what hosts have told of brokers since the last round."""
        rows, self._rows = self._rows, {}
        for row in rows.values():
            if (host := situation.view.hosts.get(row.host)) is not None:
                self._distances.heard(row, host.region)

    def _due(self, situation: Situation, led: Mapping[tuple[str, int], Led]) -> list[_Due]:
        owners = {slot: each.host for slot, each in situation.view.placements.items() if each.host is not None}
        regions = {name: host.region for name, host in situation.view.hosts.items() if name in situation.live}
        told = {each.decision: each for each in [*situation.view.decisions.values(), *self._decided]}.values()
        found: list[_Due] = []
        for name, known in sorted(situation.flows.items()):
            if known.revision.state != "submitted" or situation.flow_policy(name) != "auto":
                continue
            readers = {topic: segment for topic, segment, _ in _edges(known)}
            moves: list[LeaderMove] = []
            for at in led_partitions(known, owners, regions, led):
                try:
                    moves += plan_leaders([at], self._distances.regions, self._distances.trip_ms, LeadingParams())
                except KeyError:
                    continue  # somebody has not measured yet
            due = [_Due(move, name, readers[move.topic]) for move in moves]
            found += self._affordable(due, known, told, situation) if due else []
        resting = moved_lately(told, now_ms=situation.now_ms)
        rested = [each for each in found if (each.move.topic, each.move.partition) not in resting]
        return sorted(rested, key=lambda each: each.move.then_ms - each.move.now_ms)[:MOVES_MAX]

    def _affordable(
        self, due: Iterable[_Due], known: KnownFlow, told: Iterable[Decision], situation: Situation
    ) -> Iterator[_Due]:
        """Those for which the flow allows another pause of the partition."""
        since_ms = situation.now_ms - self._window_ms
        moves = map(from_record, situation.view.moves.of(known.revision.flow).values())
        spent_ms = spent(moves, since_ms=since_ms, besides_ms=leader_pauses(told, since_ms=since_ms))
        for each in due:
            paused_ms = spent_ms.get((each.segment, each.move.partition), 0.0)
            if paused_ms + LEADER_PAUSE_MS <= known.graph.spec.pause_budget_ms:
                yield each

    def _tell(self, end: LeaderMoved, due: _Due) -> None:
        move, now_ms = end.move, self._situation().now_ms
        what = f"broker {move.after[0]} leads {move.topic}[{move.partition}]"
        gain = f"a record takes {move.then_ms:.1f} ms by it instead of {move.now_ms:.1f} ms"
        entry = decision(
            REFUSED if end.failure else MOVED,
            f"{what}: {end.failure}" if end.failure else what,
            gain,
            by=self._by,
            now_ms=now_ms,
            flow=due.flow,
            evidence={
                "now_ms": move.now_ms,
                "then_ms": move.then_ms,
                "took_s": end.took_s,
                "topic": move.topic,
                "partition": float(move.partition),
                "segment": due.segment,
            },
        )
        self._told.append(entry)
        self._decided = [each for each in self._decided if now_ms - each.decided_ms < REST_MS]
        if isinstance(entry[1], Decision):
            self._decided.append(entry[1])
