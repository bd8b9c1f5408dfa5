"""A snapshot counts only whole: where pieces of it are gone, the changelog gives all of the state."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from aiokafka import TopicPartition

from services.host import replica as under_test
from services.host.changelog import drained
from services.host.replica import Replica
from services.host.snapshot import SnapshotPlace, Snapshots
from services.operators.program import Program
from services.operators.wiring import flow_program
from tests.unit.host.stand_ins import Fetched
from topics.flow.file import parse_graph

FLOW = """
flow: counts
sources: {packets: {topic: packets, event_time: ts}}
operators:
  counted: {op: aggregate, input: packets, by: [src], emit: {n: count()}}
sinks: {out: {input: counted, topic: counts}}
"""
CHANGES, SNAPSHOTS = TopicPartition("changes", 0), TopicPartition("snapshots", 0)
ENTRIES = {(0, f"s{i}"): [i] for i in range(50_000)}
CHANGED = {(0, "s7"): [700]}
FROM_OFFSET = 3

Records = list[Any]


def program(entries: dict[Any, Any]) -> Program:
    made = flow_program(parse_graph(FLOW))
    for key, value in entries.items():
        made.tables["counted/windows"].put(key, value)
    return made


def records(pairs: Any) -> Records:
    return [SimpleNamespace(key=key, value=value) for key, value in pairs]


def changelog(entries: dict[Any, Any]) -> Records:
    return records(pair for _, keys, values in drained(program(entries)) for pair in zip(keys, values, strict=True))


def pieces(snapshots: Snapshots) -> Records:
    made = []
    while more := snapshots.pieces():
        made += more
    return records(made)


def restored(place: SnapshotPlace, topics: dict[TopicPartition, Records]) -> tuple[dict[Any, Any], int]:
    """The state that a replica finds, and how many entries it has read for it."""
    into = program({})
    with patch.object(under_test, "BlockConsumer", lambda **_: Fetched(topics)):
        replica = Replica(into, {"counted": CHANGES.topic}, SNAPSHOTS.topic, 0, bootstrap="", client_id="")

        async def story() -> None:
            await replica.open(place)
            await replica.catch_up()

        asyncio.run(story())
    return into.tables["counted/windows"].data, replica.entries_read


@pytest.fixture(scope="module")
def written() -> tuple[SnapshotPlace, Records, Records]:
    """A place, the pieces that it has, and a changelog: all that came before the snapshot, and one change after it."""
    before = changelog(ENTRIES)
    snapshots = Snapshots(program(ENTRIES))
    snapshots.landed(FROM_OFFSET)
    snapshots.begin({"counted": len(before)}, now_ms=1)
    made = pieces(snapshots)
    assert snapshots.place is not None
    assert len(made) == snapshots.place.pieces > 1
    return snapshots.place, made, before + changelog(CHANGED)


@pytest.mark.parametrize("left", ["none", "only the first", "all but the last", "none, and the topic was made anew"])
def test_where_pieces_are_missing_all_changes_are_read(
    written: tuple[SnapshotPlace, Records, Records], left: str
) -> None:
    """Keys that have not changed since the snapshot began would be gone, and nobody would hear of it."""
    place, made, changes = written
    older = records([(b"1/0", b"")] * FROM_OFFSET)
    kept = {
        "none": older,
        "only the first": older + made[:1],
        "all but the last": older + made[:-1],
        "none, and the topic was made anew": [],
    }[left]
    assert ENTRIES | CHANGED == restored(place, {CHANGES: changes, SNAPSHOTS: kept})[0]


def test_a_whole_snapshot_spares_the_changes_before_it(written: tuple[SnapshotPlace, Records, Records]) -> None:
    """Also if a piece is there twice, or the topic was made anew and is shorter now than the place says."""
    place, made, changes = written
    older = records([(b"1/0", b"")] * FROM_OFFSET)
    whole, read = restored(place, {CHANGES: changes, SNAPSHOTS: older + made})
    assert (ENTRIES | CHANGED, len(ENTRIES) + len(CHANGED)) == (whole, read)
    twice, read_with_one_twice = restored(place, {CHANGES: changes, SNAPSHOTS: older + made + made[:1]})
    assert whole == twice
    assert read < read_with_one_twice < read + len(ENTRIES)
    behind_the_end = msgspec.structs.replace(place, from_offset=99)
    assert (whole, read) == restored(behind_the_end, {CHANGES: changes, SNAPSHOTS: made})
