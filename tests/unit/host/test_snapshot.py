"""Snapshots: complete ones come back whole, and nothing of any other snapshot comes with them."""

from services.host.snapshot import AGE_MS_MAX, SnapshotPlace, Snapshots, load_piece, usable
from services.operators.program import Program
from services.operators.wiring import flow_program
from topics.flow.file import parse_graph

FLOW = """
flow: counts
sources: {packets: {topic: packets, event_time: ts}}
operators:
  counted: {op: aggregate, input: packets, by: [src], emit: {n: count()}}
sinks: {out: {input: counted, topic: counts}}
"""


def program(entries: dict[object, object]) -> Program:
    made = flow_program(parse_graph(FLOW))
    made.tables["counted/windows"].data.update(entries)
    return made


def taken(snapshots: Snapshots, *, now_ms: int, most: int = 1_000) -> list[tuple[bytes, bytes]]:
    """All pieces of one snapshot, or the first few."""
    snapshots.begin({"counted": 7}, now_ms=now_ms)
    pieces: list[tuple[bytes, bytes]] = []
    while len(pieces) < most and (more := snapshots.pieces()):
        pieces += more
    return pieces


def loaded(place: SnapshotPlace, pieces: list[tuple[bytes, bytes]]) -> dict[object, object]:
    made = program({})
    for key, value in pieces:
        load_piece(made, place, key, value)
    return made.tables["counted/windows"].data


def test_a_complete_snapshot_comes_back_whole() -> None:
    """Recovery starts from it instead of from all changes."""
    entries = {(0, f"s{i}"): [i] for i in range(45_678)}
    snapshots = Snapshots(program(entries))
    pieces = taken(snapshots, now_ms=1)
    assert snapshots.place is not None
    assert len(pieces) == snapshots.place.pieces
    assert entries == loaded(snapshots.place, pieces)


def test_keys_of_all_shapes_come_back_as_they_were() -> None:
    """Tuples of one length travel as columns, all others one by one; a table must not notice."""
    entries = {
        **{(window, (f"s{i}", None)): [i] for window in (0, 60) for i in range(3)},
        ("alone",): [7],
        (): [8],
        "text": [9],
        b"raw": [10],
        None: [11],
    }
    snapshots = Snapshots(program(entries))
    pieces = taken(snapshots, now_ms=1)
    assert snapshots.place is not None
    assert entries == loaded(snapshots.place, pieces)
    uniform = {(window, (f"s{i}", b"x")): [i] for window in (0, 60) for i in range(3)}
    again = Snapshots(program(uniform))
    pieces = taken(again, now_ms=1)
    assert again.place is not None
    assert uniform == loaded(again.place, pieces)


def test_pieces_of_a_snapshot_that_was_never_completed_do_not_count() -> None:
    """They hold entries that may have been removed before the next snapshot began."""
    abandoned = taken(Snapshots(program({(0, "gone"): [1], (0, "kept"): [1]})), now_ms=1, most=1)
    snapshots = Snapshots(program({(0, "kept"): [2]}))
    pieces = taken(snapshots, now_ms=2)
    assert snapshots.place is not None
    assert abandoned[0][0] == pieces[0][0]
    assert {(0, "kept"): [2]} == loaded(snapshots.place, [*abandoned, *pieces])


def test_slots_take_turns() -> None:
    """The last complete snapshot must stay readable while the next one is written."""
    snapshots = Snapshots(program({(0, "a"): [1]}))
    first = taken(snapshots, now_ms=1)
    second = taken(snapshots, now_ms=2)
    assert {key for key, _ in first}.isdisjoint(key for key, _ in second)


def test_an_old_snapshot_is_not_used() -> None:
    """The changelog forgets removals after a while; what was removed would come back."""
    place = SnapshotPlace(begun_ms=0, from_offset=0, slot=0, pieces=1, offsets={})
    assert place == usable(place, now_ms=AGE_MS_MAX - 1)
    assert usable(place, now_ms=AGE_MS_MAX) is None


def test_a_snapshot_is_due_when_the_changes_outweigh_the_state() -> None:
    """Below that, reading the changelog is quicker than writing snapshots."""
    snapshots = Snapshots(program({(0, "a"): [1]}))
    snapshots.changed(50_000)
    assert not snapshots.is_due
    snapshots.changed(1)
    assert snapshots.is_due
    snapshots.begin({}, now_ms=1)
    assert not snapshots.is_due
