"""What inputs remember travels with the committed offsets, also from one version of the software to the next."""

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from aiokafka import TopicPartition

from services.host.remembered import Note, Remembered
from services.host.segment_plan import Input
from services.host.task_input import TaskInputs
from services.operators.batch import Batch
from topics.catalogue import EDGE
from topics.errors import OtherVersionError
from topics.flow.specs import Source
from topics.messages import Block

SOURCE = Source("packets", "packets", event_time="ts", lateness_ms=0)
PLAN = Input("packets", "packets", 1, SOURCE, None, 0, 1_000)
AT = TopicPartition("packets", 0)


def inputs_at(time_ms: int) -> TaskInputs:
    made = TaskInputs([PLAN], 0)
    made._watermarks.admit("packets", 0, Batch.empty(time_ms), now_ms=0)
    return made


def test_inputs_go_on_from_what_was_committed() -> None:
    """A restart must judge lateness as if it had not happened."""
    before = inputs_at(5_000)
    before.by_name["packets"].next_offset = 7
    after = TaskInputs([PLAN], 0)
    after.resume({at: (offset, "") for at, offset in before.offsets.items()}, before.remembered(None))
    assert 5_000 == after.watermark_ms("packets")
    assert 7 == after.by_name["packets"].next_offset == after.by_name["packets"].fetch_offset


def test_what_another_version_remembers_is_no_obstacle() -> None:
    """An upgrade must not park every task because a table was added or dropped."""
    tables = dict(inputs_at(5_000).remembered(None).tables)
    dropped = tables.pop("watermarks/resting", None)
    after = TaskInputs([PLAN], 0)
    after.resume({AT: (7, "")}, Remembered(None, {**tables, "watermarks/unheard-of": {"x": 1}}))
    assert dropped is not None
    assert 5_000 == after.watermark_ms("packets")


def test_an_input_that_is_new_does_not_hide_what_the_others_remember() -> None:
    """A topic that has got more partitions brings a task an input without an offset."""
    other = Input("more", "more", 1, SOURCE, None, 0, 1_000)
    text = Note(5, 6, b"packed").text()
    for texts in ((text, ""), ("", text)):
        found = {AT: (1, texts[0]), TopicPartition("more", 0): (0, texts[1])}
        assert Note(5, 6, b"packed") == TaskInputs([PLAN, other], 0).note(found)


def test_a_parcel_tells_how_many_bytes_it_was() -> None:
    """The models learn from it what a record weighs; a tombstone weighs nothing."""
    raws = [b'{"ts":1}', None]
    records = [SimpleNamespace(value=raw, key=None, timestamp=1, offset=i, headers=()) for i, raw in enumerate(raws)]
    (parcel,) = TaskInputs([PLAN], 0).read("packets", records, now_ms=0)
    assert 8 == parcel.size_bytes


@pytest.mark.parametrize("offsets", [(3, 4, 5), (3, 7, 9)])
def test_records_keep_their_offsets_also_where_there_are_gaps(offsets: tuple[int, ...]) -> None:
    """A transaction's marker takes an offset; a dead letter with another record's origin could not be replayed."""
    raws = [b'{"ts":1}', b"broken", b'{"ts":2}']
    records = [
        SimpleNamespace(value=raw, key=None, timestamp=1, offset=offset, headers=())
        for raw, offset in zip(raws, offsets, strict=True)
    ]
    (parcel,) = TaskInputs([PLAN], 0).read("packets", records, now_ms=0)
    assert [offsets[1]] == [failure.offset for failure in parcel.failures]
    assert [offsets[0], offsets[2]] == list(parcel.batch.offsets)


EDGE_INPUT = Input("paid", "edge", 1, None, None, 1, None, writer="shop.new")


def block(segment: str, time_ms: int, offset: int = 0) -> SimpleNamespace:
    sent = Block(
        segment=segment,
        partition=0,
        epoch=1,
        origin_topic="sales",
        origin_partition=0,
        values=[{"town": "Bath"}],
        keys=[None],
        times_ms=[time_ms],
        offsets=[0],
        watermark_ms=time_ms,
    )
    return SimpleNamespace(value=EDGE.codec.encode(sent, topic="edge"), offset=offset, headers=())


def test_what_another_revision_s_segment_left_on_an_edge_is_passed_over() -> None:
    """A reader that begins anew finds blocks of the filter before: counted, they would be wrong, and the time that they
    tell would make all that the new filter sends late."""
    inputs = TaskInputs([EDGE_INPUT], 0)
    old, new = inputs.read("paid", [block("shop.old", 9_000), block("shop.new", 1_000)], now_ms=0)
    assert ([], []) == (list(old.batch.values), list(old.late.values))
    assert ([{"town": "Bath"}], 1_000) == (list(new.batch.values), new.batch.watermark_ms)


@pytest.mark.parametrize("slots", [False, True])
def test_what_is_late_since_its_input_was_given_up_keeps_all_its_fields(slots: bool) -> None:
    """Whoever replays it needs them, also those that the flow does not read."""
    inputs = TaskInputs([replace(PLAN, fields=frozenset({"ts"}), slots=slots)], 0)
    inputs._watermarks.admit("packets", 0, Batch.empty(9_000), now_ms=0)
    record = SimpleNamespace(value=b'{"ts":1,"unread":[2]}', key=None, timestamp=1, offset=0, headers=())
    (parcel,) = inputs.read("packets", [record], now_ms=0)
    assert ([], [{"ts": 1, "unread": [2]}]) == (list(parcel.batch.values), list(parcel.late.values))


@pytest.mark.parametrize("value", [None, b"", b'{"town": "Bath"}', b"\xff\xfe"])
def test_what_somebody_else_wrote_to_an_edge_is_set_aside_alone(value: bytes | None) -> None:
    """It parked its reader for good. Time does not move by it, and what comes behind it has its turn."""
    inputs = TaskInputs([EDGE_INPUT], 0)
    foreign = SimpleNamespace(value=value, key=b"k", timestamp=1, offset=1, headers=())
    before, between, after = inputs.read(
        "paid", [block("shop.new", 1_000), foreign, block("shop.new", 2_000, offset=2)], now_ms=0
    )
    assert ([1], {1: foreign}) == ([failure.offset for failure in between.failures], between.originals)
    assert ("edge", 0, 1) == (between.origin.topic, between.origin.partition, between.origin.offset)
    assert ([], 1_000) == (list(between.batch.values), between.batch.watermark_ms)
    assert [1_000, 2_000] == [each.batch.watermark_ms for each in (before, after)]
    assert 3 == inputs.by_name["paid"].next_offset


def test_a_block_of_another_version_is_no_stranger_s() -> None:
    """In the middle of an upgrade a host would set aside all that those before it send; it waits to be upgraded."""
    newer = msgspec.msgpack.encode([2, *msgspec.msgpack.decode(block("shop.new", 1_000).value)[1:-1], "other"])
    with pytest.raises(OtherVersionError, match="it has version 2; upgrade this reader"):
        list(TaskInputs([EDGE_INPUT], 0).read("paid", [SimpleNamespace(value=newer, offset=0, headers=())], now_ms=0))


def test_latency_is_sampled_from_every_place_of_a_batch_alike() -> None:
    """The last record of a batch waited for the shortest: by it, the longer a queue, the better a flow looked."""
    inputs = TaskInputs([PLAN], 0)
    places = []
    for batch in range(100):
        records = [
            SimpleNamespace(value=b'{"ts":1}', key=None, timestamp=place, offset=8 * batch + place, headers=())
            for place in range(8)
        ]
        (parcel,) = inputs.read("packets", records, now_ms=0)
        places.append(parcel.born_ms)
    assert all(12 <= places.count(place) <= 13 for place in range(8))


AT_5_S = SimpleNamespace(value=b'{"ts":5000}', key=None, timestamp=1, offset=0, headers=())


def source(name: str, partitions: int) -> Input:
    return Input(name, name, partitions, Source(name=name, topic=name, event_time="ts"), None, 0, 30_000)


def test_an_input_without_this_partition_holds_nobody_back() -> None:
    """Of two topics one has grown: for a union in the new tasks time stood still, and so it did for all behind it."""
    inputs = TaskInputs([source("narrow", 4), source("wide", 8)], 5)
    assert ["wide"] == list(inputs.by_name)
    list(inputs.read("wide", [AT_5_S], now_ms=0))
    assert [("narrow", inputs.watermark_ms("wide"))] == [
        (name, batch.watermark_ms) for name, batch in inputs.moved(now_ms=1)
    ]
    assert not inputs.is_idle(now_ms=1)
    assert inputs.is_idle(now_ms=30_000)


def test_an_input_that_gets_this_partition_counts_when_it_speaks() -> None:
    """What the task had noted of nobody does not stand for it: it has its time to be silent as any other."""
    before = TaskInputs([source("narrow", 4), source("wide", 8)], 5)
    after = TaskInputs([source("narrow", 8), source("wide", 8)], 5)
    after.resume({each.at: (0, "") for each in after.by_name.values()}, before.remembered(None))
    assert [] == after.moved(now_ms=0)
    list(after.read("wide", [AT_5_S], now_ms=1))
    assert [] == after.moved(now_ms=1)
    assert ["narrow"] == [name for name, _ in after.moved(now_ms=30_000)]
