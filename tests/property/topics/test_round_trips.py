"""What users put into records comes back unchanged, whatever it is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from topics.catalogue import DEAD_LETTERS, EDGE, FLOWS, LATE
from topics.messages import Block, DeadLetter, FlowRevision, Header, LateRecord, Origin

TIMES_MS = st.integers(-(2**62), 2**62)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
RECORDS = st.dictionaries(TEXTS, VALUES, max_size=3)
KEYS = st.none() | st.binary(max_size=12)
ROWS = st.lists(st.tuples(KEYS, TIMES_MS, st.integers(-1, 2**62), RECORDS), max_size=4)
WORDS = st.from_regex(r"[a-z0-9_-]{1,40}", fullmatch=True)
ORIGINS = st.builds(Origin, topic=WORDS, partition=st.integers(0, 9), offset=st.integers(0, 2**62))


@given(rows=ROWS, watermark_ms=TIMES_MS)
def test_blocks_of_any_records_come_back(rows: list[tuple[Any, ...]], watermark_ms: int) -> None:
    """Every record between two segments passes through here."""
    keys, times_ms, offsets, values = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    block = Block(
        segment="talk.s1",
        partition=0,
        epoch=1,
        watermark_ms=watermark_ms,
        origin_topic="packets",
        origin_partition=0,
        keys=keys,
        times_ms=times_ms,
        offsets=offsets,
        values=values,
    )
    value = EDGE.codec.encode(block, topic="edge")
    assert block == EDGE.codec.decode(value, topic="edge", partition=0, offset=0)


@given(origin=ORIGINS, key=KEYS, value=st.none() | st.binary(), name=TEXTS, header=KEYS)
def test_dead_letters_keep_every_byte_of_the_original(
    origin: Origin, key: bytes | None, value: bytes | None, name: str, header: bytes | None
) -> None:
    """A replay must send exactly what the source had, and a null must not become empty bytes."""
    letter = DeadLetter(
        flow="talk",
        operator="tcp",
        origin=origin,
        error="no",
        attempts=1,
        failed_ms=1,
        key=key,
        value=value,
        headers=(Header(name=name, value=header),),
    )
    read = DEAD_LETTERS.codec.decode(DEAD_LETTERS.codec.encode(letter, topic="d"), topic="d", partition=0, offset=0)
    assert letter == read


@given(origin=ORIGINS, value=VALUES, event_time_ms=TIMES_MS)
def test_late_records_keep_their_value(origin: Origin, value: Any, event_time_ms: int) -> None:
    """A user may process late records like any others."""
    late = LateRecord(
        flow="talk",
        operator="traffic",
        origin=origin,
        event_time_ms=event_time_ms,
        watermark_ms=0,
        seen_ms=1,
        key=None,
        value=value,
    )
    assert late == LATE.codec.decode(LATE.codec.encode(late, topic="l"), topic="l", partition=0, offset=0)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_flow_files_keep_every_character(text: str) -> None:
    """Line and column of an error must be those of the user's file."""
    flow = FlowRevision(
        flow="talk", revision=1, state="submitted", text=text, delivery="at_least_once", changed_ms=1, changed_by=None
    )
    assert flow == FLOWS.codec.decode(FLOWS.codec.encode(flow, topic="f"), topic="f", partition=0, offset=0)
