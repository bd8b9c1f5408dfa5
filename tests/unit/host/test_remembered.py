"""What belongs to committed offsets fits what a broker keeps with them, or goes into the landmark; nothing is lost."""

from base64 import b64encode
from random import Random

import msgspec
import pytest

from services.host.remembered import Note, Remembered, fits, pack, read_note, unpack
from services.host.segment_plan import Input
from services.host.snapshot import SnapshotPlace
from services.host.task_input import TaskInputs
from topics.flow.limits import NAME_LENGTH_MAX, PARTITIONS_MAX

NOW_MS, HOUR_MS = 1_700_000_000_000, 3_600_000
BROKER_LENGTH_MAX = 4_096
LONG = f"{'a' * NAME_LENGTH_MAX}>{'b' * NAME_LENGTH_MAX}.input"


def all_resting(upstream_partitions: int) -> TaskInputs:
    """A task behind a re-key whose senders have come to quite different times, and all rest."""
    inputs = TaskInputs([Input(LONG, "edge", 1, None, None, upstream_partitions, None)], 0)
    times_ms, rng = inputs._watermarks.tables["partitions"], Random(1)
    for partition in range(upstream_partitions):
        times_ms.put((LONG, partition), NOW_MS + rng.randrange(HOUR_MS))
        inputs._watermarks.rest(LONG, partition)
    inputs._watermarks.moved(now_ms=0)
    return inputs


@pytest.mark.parametrize("upstream_partitions", [1, 128, 500])
def test_hundreds_of_upstream_partitions_fit_although_all_rest(upstream_partitions: int) -> None:
    """offset.metadata.max.bytes is 4 KiB; a task whose commits are refused stands still."""
    packed = pack(all_resting(upstream_partitions).remembered(None))
    assert fits(packed)
    assert len(Note(NOW_MS, 2**40, packed).text()) < BROKER_LENGTH_MAX


def test_with_the_most_partitions_only_the_landmark_can_hold_it() -> None:
    """Then the note says so in a few characters, and the landmark's record is small for a topic."""
    packed = pack(all_resting(PARTITIONS_MAX).remembered(None))
    assert not fits(packed)
    assert len(packed) < 64 * 1_024
    assert len(Note(NOW_MS, 2**40, None).text()) < 100


@pytest.mark.parametrize("upstream_partitions", [1, 128, PARTITIONS_MAX])
def test_all_of_it_comes_back(upstream_partitions: int) -> None:
    """A restart that judged lateness or rest differently would give other results."""
    before = all_resting(upstream_partitions)
    place = SnapshotPlace(NOW_MS, 5, 1, 3, {"counted": 17})
    after = TaskInputs([Input(LONG, "edge", 1, None, None, upstream_partitions, None)], 0)
    remembered = unpack(pack(before.remembered(place)))
    after.resume(dict.fromkeys(after.offsets, (7, "")), remembered)
    assert place == remembered.snapshot
    assert {name: table.data for name, table in before._tables().items()} == {
        name: table.data for name, table in after._tables().items()
    }


def test_event_times_may_be_as_far_apart_as_numbers_go() -> None:
    """Somebody's clock is always broken, and differences are larger than what they are between."""
    tables = {"watermarks/partitions": {("e", 0): -(2**62), ("e", 1): 2**63 - 1, ("e", 3): 0}}
    assert tables == unpack(pack(Remembered(None, tables))).tables


def test_what_the_version_before_committed_is_still_read() -> None:
    """Flows that run must survive the upgrade."""
    place = SnapshotPlace(NOW_MS, 5, 1, 3, {"counted": 17})
    listed = {"watermarks/partitions": [(("e", 4), 9)], "packets/clock": [("largest", 11)]}
    earlier = b64encode(msgspec.msgpack.encode([place, listed])).decode()
    note = read_note(earlier)
    assert note.landmark_ms is None
    assert note.packed is not None
    tables = {"watermarks/partitions": {("e", 4): 9}, "packets/clock": {"largest": 11}}
    assert Remembered(place, tables) == unpack(note.packed)


@pytest.mark.parametrize("packed", [None, b"some bytes"])
def test_a_note_is_read_back(packed: bytes | None) -> None:
    """Kafka keeps a string; it must not mix up what is elsewhere with what is nothing."""
    assert Note(5, 6, packed) == read_note(Note(5, 6, packed).text())


def test_an_offset_that_a_person_has_set_remembers_nothing() -> None:
    """Kafka's own tools commit without metadata."""
    assert Note() == read_note("")
    assert Remembered() == unpack(b"")


def test_the_form_of_a_later_version_is_refused_with_a_remedy() -> None:
    """To guess would be to judge lateness anew."""
    with pytest.raises(ValueError, match="another version"):
        read_note("3:5:6:AAAA")
