"""What a host sees to when segments are shared: where a reader begins, and that nobody breaks a promise."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

import services.host.segment as segment_module
from services.host.beginnings import FirstRecordsGoneError, check_beginnings
from services.host.blueprint import CannotRunError, blueprint
from services.host.seat import BROKEN
from services.host.segment import Segment
from services.host.segment_plan import plan_segment
from services.host.wanted import Terms
from services.sharing.equality import promise, segment_of, tapped_edges
from tests.unit.sharing.talks import segment, talk, tap, text_of

SERVER, TAPPER = talk("f"), talk("g")
COUNTS = {"clicks": 4, "g-out": 4}
OWN, OTHER = "stig.flow.g.edge.counts.TO.totals.0", "stig.flow.f.edge.counts.TO.totals.0"


def test_a_tapped_edge_is_read_where_the_other_flow_writes_it() -> None:
    """With the same partitions and as many writers; nothing else changes."""
    edges = tapped_edges(TAPPER, SERVER, tap(TAPPER, SERVER))
    (alone,) = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS).inputs
    (served,) = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS, edges).inputs
    assert (OWN, None, OTHER, "f") == (alone.topic, alone.server, served.topic, served.server)
    assert (alone.name, alone.partitions, alone.upstream_partitions) == (
        served.name,
        served.partitions,
        served.upstream_partitions,
    )


def test_who_reads_another_flow_reads_all_of_it_or_nothing() -> None:
    """Records that were deleted before the first fetch would be lost in silence."""
    edges = tapped_edges(TAPPER, SERVER, tap(TAPPER, SERVER))
    inputs = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS, edges).inputs
    check_beginnings(inputs, {TopicPartition(OTHER, 0): 0})
    with pytest.raises(FirstRecordsGoneError, match="from offset 7 on only"):
        check_beginnings(inputs, {TopicPartition(OTHER, 0): 0, TopicPartition(OTHER, 1): 7})
    assert FirstRecordsGoneError in BROKEN, "it does not pass by itself, so it parks soon, with these words"


class Consumer:
    """Nothing is committed, and topics begin where the test says."""

    _coordinator = None

    def __init__(self, begins: int) -> None:
        self.begins = begins

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.begins)


def test_a_task_asks_before_its_first_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days may lie between the choice and the first fetch: a plan may have waited for a person."""

    async def nothing(_coordinator: object, _partitions: object) -> dict[TopicPartition, tuple[int, str]]:
        return {}

    monkeypatch.setattr(segment_module, "committed_offsets", nothing)
    edges = tapped_edges(TAPPER, SERVER, tap(TAPPER, SERVER))
    reader = object.__new__(Segment)
    reader.plan = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS, edges)
    at = TopicPartition(OTHER, 0)
    for begins in (0, 7):
        reader._consumer = Consumer(begins)  # type: ignore[assignment]
        if begins == 0:
            assert {at: (0, "")} == asyncio.run(reader._committed([at]))
        else:
            with pytest.raises(FirstRecordsGoneError):
                asyncio.run(reader._committed([at]))


def test_a_flows_own_topics_begin_where_they_begin() -> None:
    """A source keeps what its owner wants it to keep."""
    inputs = plan_segment(TAPPER, segment(TAPPER, "kept"), COUNTS).inputs
    check_beginnings(inputs, {TopicPartition("clicks", 0): 7})


class Cluster:
    """A broker that has what the flows need."""

    async def partitions(self) -> dict[str, int]:
        return {**COUNTS, "f-out": 4}

    async def bytes_max(self, _topics: Any) -> dict[str, int]:
        return {}

    async def ensure(self, _declarations: Any) -> tuple[()]:
        return ()


def build(text: str, promise: str) -> Any:
    terms = Terms((), promise)
    shared = segment(SERVER, "counts")
    return asyncio.run(blueprint(shared, text, Cluster(), caller=lambda spec: None, terms=terms))  # type: ignore[arg-type, return-value]


def test_a_segment_that_serves_runs_only_by_what_it_promised() -> None:
    """A revision may have come in the moment in which others began to read: its text must not reach them."""
    shared = segment_of(SERVER, segment(SERVER, "counts"))
    assert shared is not None
    given = promise(SERVER, shared)
    assert shared == build(text_of("f"), given).segment
    assert shared == build(text_of("f", emit="max(n)"), given).segment
    with pytest.raises(CannotRunError, match="writes something else than other flows read"):
        build(text_of("f", then="shop"), given)
