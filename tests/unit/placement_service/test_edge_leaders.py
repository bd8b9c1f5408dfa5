"""Which partitions of a flow's edges are looked at, for whom, and how far brokers are."""

import asyncio

import pytest

from placement.leading import LeadingParams, plan_leaders
from services.placement.edge_leaders import (
    MOVED,
    REFUSED,
    REST_MS,
    BrokerDistances,
    EdgeLeaders,
    led_partitions,
    moved_lately,
)
from services.placement.leadership import Led
from services.placement.situation import KnownFlow, Situation
from services.registry.view import RegistryView
from tests.unit.registry_messages import registration
from topics.flow.builder import Flow
from topics.messages import Decision, FlowRevision, LinkMetrics, Sketch
from topics.names import edge_topic

REGIONS = {"ant": "east", "bee": "west", "cat": "west"}


def known_flow() -> KnownFlow:
    flow = Flow("f")
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

    leaders = EdgeLeaders("nowhere", by="p1", situation=situation, term=lambda: 1)
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
