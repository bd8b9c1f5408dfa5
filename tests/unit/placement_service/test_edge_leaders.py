"""Which partitions of a flow's edges are looked at, for whom, and how far brokers are."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from placement.leading import LeaderMove, LeadingParams, plan_leaders
from services.placement.edge_leaders import REST_MS, BrokerDistances, EdgeLeaders, led_partitions, moved_lately
from services.placement.leader_pauses import LEADER_PAUSE_MS, MOVED, REFUSED, leader_pauses
from services.placement.leadership import LeaderMoved, Led
from services.placement.situation import KnownFlow, Situation
from services.registry.view import RegistryView
from tests.unit.registry_messages import move_record, registration
from topics.flow.builder import Flow
from topics.messages import Decision, FlowRevision, LinkMetrics, Placement, Sketch
from topics.names import edge_topic

HOUR_MS = 3_600_000
REGIONS = {"ant": "east", "bee": "west", "cat": "west"}


def known_flow(pause_budget: str = "10s") -> KnownFlow:
    flow = Flow("f", pause_budget=pause_budget)
    counted = flow.source("s", topic="t", key="id", partitions=2).aggregate(
        by=["user"], emit={"n": "count()"}, name="n"
    )
    counted.sink("out", topic="out")
    graph = flow.graph()
    revision = FlowRevision(
        flow="f", revision=1, state="submitted", text=flow.to_yaml(), delivery="at_least_once", changed_ms=1
    )
    return KnownFlow(revision, graph, {segment.id: 2 for segment in graph.segments})


def row(host: str, broker: int, trip_ms: float) -> LinkMetrics:
    return LinkMetrics(host=host, peer=f"broker/{broker}", second=1, sent=1, lost=0, round_trip_ms=Sketch.of([trip_ms]))


def test_an_edge_has_the_regions_of_its_writers_and_of_each_reader() -> None:
    """After a re-key every task of the segment before writes to every partition."""
    known = known_flow()
    first, second = (segment.id for segment in known.graph.segments)
    owners = {(first, 0): "ant", (first, 1): "bee", (second, 0): "ant", (second, 1): "cat"}
    (edge,) = {edge for segment in known.graph.segments for edge in segment.inputs if edge.kind == "rekey"}
    topic = edge_topic("f", edge.stream, "n", 0)
    led = {(topic, 0): (1, (1,)), (topic, 1): (1, (1,)), ("other", 0): (2, (2,))}

    found = list(led_partitions(known, owners, REGIONS, led))

    assert [(0, "east"), (1, "west")] == [(at.partition, at.reader) for at in found]
    assert (("east", 0.5), ("west", 0.5)) == found[0].writers


def test_leaders_go_where_hosts_say_it_is_near() -> None:
    """Both ends in the west, and the leader in the east: that costs two ways for nothing."""
    known = known_flow()
    owners = dict.fromkeys(known.slots(), "bee")
    edges = [edge for segment in known.graph.segments for edge in segment.inputs if edge.kind == "rekey"]
    led = {(edge_topic("f", edges[0].stream, "n", 0), 0): (1, (1,))}
    distances = BrokerDistances({1: "east", 2: "west"})
    for host, broker, trip_ms in [
        ("ant", 1, 1.0),
        ("bee", 2, 1.0),
        ("cat", 1, 80.0),
        ("bee", 1, 82.0),
        ("cat", 2, 1.0),
    ]:
        distances.heard(row(host, broker, trip_ms), REGIONS[host])

    partitions = list(led_partitions(known, owners, REGIONS, led))
    (move,) = plan_leaders(partitions, distances.regions, distances.trip_ms, LeadingParams())

    assert (2,) == move.after
    assert move.now_ms - move.then_ms > 80


def test_what_nobody_measured_is_not_guessed() -> None:
    """A leader moved on a guess would have to move back."""
    distances = BrokerDistances({1: "east", 2: "west"})
    distances.heard(row("ant", 1, 1.0), "east")
    with pytest.raises(KeyError):
        distances.trip_ms("east", "west")
    distances.heard(row("bee", 1, 80.0), "west")
    assert 80.0 == pytest.approx(distances.trip_ms("east", "west"), rel=0.05)


def test_the_situation_is_looked_at_once_a_round_and_not_for_each_row() -> None:
    """Every host tells of every broker each second; a situation goes through all placements."""
    looked: list[None] = []
    hosts = {name: registration(name, region=region) for name, region in REGIONS.items()}

    def situation() -> Situation:
        looked.append(None)
        return Situation(RegistryView(hosts=hosts), 0, frozenset(REGIONS), {})

    class Leadership:
        async def regions(self) -> dict[int, str]:
            return {1: "east", 2: "west"}

        async def led(self) -> dict[tuple[str, int], Led]:
            return {}

    leaders = EdgeLeaders("nowhere", by="p1", situation=situation, term=lambda: 1, window_ms=HOUR_MS)
    for trip_ms in (90.0, 80.0):
        for host in REGIONS:
            leaders._heard(row(host, 1, trip_ms), 0.0)
    assert [] == looked
    asyncio.run(leaders._round(Leadership(), 1))  # type: ignore[arg-type]
    assert [None] == looked
    assert 80.0 == pytest.approx(leaders._distances.trip_ms("west", "east"), rel=0.05)


def test_a_leader_that_was_changed_rests_also_under_the_next_instance() -> None:
    """The one that takes over knows it from the history: else two of them could change leaders within seconds."""
    kept = [
        Decision(
            decision=f"d-{number}",
            kind=kind,
            by="p1",
            decided_ms=decided_ms,
            what="",
            why="",
            evidence={"topic": "edge", "partition": float(number)},
        )
        for number, (kind, decided_ms) in enumerate([(MOVED, 10), (REFUSED, 10), (MOVED, 0), ("moved", 10)])
    ]
    assert {("edge", 0), ("edge", 1)} == moved_lately(kept, now_ms=REST_MS)
    assert set() == moved_lately(kept, now_ms=REST_MS + 10)


class Brokers:
    """The only edge of the flow is led in the east. `moved`: what was carried out."""

    def __init__(self, known: KnownFlow) -> None:
        edges = [edge for segment in known.graph.segments for edge in segment.inputs if edge.kind == "rekey"]
        self.topic = edge_topic("f", edges[0].stream, "n", 0)
        self.moved: list[LeaderMove] = []

    async def regions(self) -> dict[int, str]:
        return {1: "east", 2: "west"}

    async def led(self) -> dict[tuple[str, int], Led]:
        return {(self.topic, 1): (1, (1,))}

    async def carry_out(self, moves: Sequence[LeaderMove], *, may_act: Callable[[], bool]) -> list[LeaderMoved]:
        self.moved += moves
        return [LeaderMoved(move, 3.0) for move in moves]


class Scene:
    """A flow that runs in the west. `round`: what was decided of its edge, for which it has moved so far."""

    def __init__(self, pause_budget: str = "10s") -> None:
        self.known = known_flow(pause_budget)
        self.reader = next(each.id for each in self.known.graph.segments if each.inputs[0].kind == "rekey")
        self.view = RegistryView(hosts={name: registration(name, region=region) for name, region in REGIONS.items()})
        for segment, number in self.known.slots():
            self.view.take(
                Placement(
                    segment=segment,
                    partition=number,
                    epoch=1,
                    host="bee",
                    flow="f",
                    revision=1,
                    operators=("n",),
                    placed_ms=0,
                )
            )
        self.now_ms = 10 * HOUR_MS
        self.leaders = EdgeLeaders("nowhere", by="p1", situation=self._situation, term=lambda: 1, window_ms=HOUR_MS)
        for host, broker, trip_ms in [("ant", 1, 1.0), ("bee", 2, 1.0), ("bee", 1, 82.0), ("ant", 2, 82.0)]:
            self.leaders._heard(row(host, broker, trip_ms), 0.0)

    def _situation(self) -> Situation:
        return Situation(self.view, self.now_ms, frozenset(REGIONS), {}, {"f": self.known})

    def round(self) -> list[Decision]:
        asyncio.run(self.leaders._round(Brokers(self.known), 1))  # type: ignore[arg-type]
        told = [message for _, message in self.leaders.take_told() if isinstance(message, Decision)]
        for each in told:
            self.view.take(each)
        return told


def test_a_change_is_told_of_its_flow() -> None:
    """`history FLOW` showed none of the pauses that the flow had for it."""
    scene = Scene()
    (told,) = scene.round()
    assert ("f", MOVED) == (told.flow, told.kind)
    assert {(scene.reader, 1): LEADER_PAUSE_MS} == leader_pauses([told], since_ms=0)


def test_changes_end_when_the_flow_allows_no_more_pauses_and_begin_again_an_hour_later() -> None:
    """Where a flow moves to and fro its edge would follow every two minutes, and pause each time."""
    scene, count = Scene(pause_budget="2s"), 0
    while scene.round():
        count += 1
        scene.now_ms += REST_MS
    assert 2 == count
    scene.now_ms += HOUR_MS
    assert [MOVED] == [each.kind for each in scene.round()]


@pytest.mark.parametrize(("pause_ms", "partition", "count"), [(9_500.0, 1, 0), (9_500.0, 0, 1), (9_000.0, 1, 1)])
def test_what_moves_have_paused_a_partition_counts_for_changes_too(pause_ms: float, partition: int, count: int) -> None:
    """The flow's file says how long it may pause in all."""
    scene = Scene()
    about = {"partition": partition, "actual_pause_ms": pause_ms, "since_ms": scene.now_ms - 1_000}
    scene.view.take(move_record("f", scene.reader, **about))
    assert count == len(scene.round())


def test_a_change_that_kafka_refused_at_once_has_paused_nobody() -> None:
    """And what an earlier version wrote tells of no segment."""
    about: dict[str, Any] = {"by": "p1", "decided_ms": 10, "what": "", "why": "", "flow": "f"}
    where: dict[str, Any] = {"topic": "edge", "segment": "s", "partition": 0.0}
    kept = [
        Decision(decision="1", kind=REFUSED, evidence=where | {"took_s": 0.0}, **about),
        Decision(decision="2", kind=MOVED, evidence={"topic": "edge", "partition": 0.0, "took_s": 3.0}, **about),
    ]
    assert {} == leader_pauses(kept, since_ms=0)
    taken_back = Decision(decision="3", kind=REFUSED, evidence=where | {"took_s": 60.0}, **about)
    assert {("s", 0): LEADER_PAUSE_MS} == leader_pauses([*kept, taken_back], since_ms=0)
    assert {} == leader_pauses([taken_back], since_ms=11)
