"""Bytes to values and back: what is broken is set aside alone."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.msgpack import Ext

from services.operators.batch import Batch
from services.operators.decode import Decoder
from services.operators.encode import SinkEncoder
from services.operators.failure import Failure
from services.operators.keys import group_reader
from services.operators.nesting import LEVELS_MAX
from topics.flow.specs import Codec, Sink

BROKEN = [b"", b"{", b"[1]", b"7", b'"text"', b"null", b'{"a": 1} trailing', b'{"a": "\xff"}', b'{"a":' * 100_000, None]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("fields", [None, frozenset({"a"})])
def test_one_broken_record_does_not_take_its_batch_with_it(broken: bytes | None, fields: frozenset[str] | None) -> None:
    """A poison record must cost one record, not a thousand."""
    values, errors = Decoder("json", fields=fields).decode([b'{"a":1}', broken, b'{"a":2}'])
    assert [{"a": 1}, {"a": 2}] == values
    assert [1] == list(errors)
    assert errors[1]


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_only_the_fields_that_are_read_are_decoded(codec: Codec) -> None:
    """That is half of the cost of a cheap flow; what was skipped can still be had for late records."""
    encode = msgspec.json.encode if codec == "json" else msgspec.msgpack.encode
    raw = encode({"a": 1, "weird name": [2], "c": {"d": 3}, "e": None})
    decoder = Decoder(codec, fields=frozenset({"weird name", "c", "missing"}))
    assert ([{"weird name": [2], "c": {"d": 3}}], {}) == decoder.decode([raw])
    assert {"a": 1, "weird name": [2], "c": {"d": 3}, "e": None} == decoder.whole(raw)


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_names_that_are_not_ascii_are_decoded(codec: Codec) -> None:
    """The names are made anew: once Python has their UTF-8, as after encoding them, msgspec finds them anyway."""
    encode = msgspec.json.encode if codec == "json" else msgspec.msgpack.encode
    names = ["größe", "日本", "😀"]
    raw = encode(dict.fromkeys(names, 1))
    decoder = Decoder(codec, fields=frozenset("".join([name[:1], name[1:]]) for name in names))
    assert ([dict.fromkeys(names, 1)], {}) == decoder.decode([raw])


@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize(
    ("levels", "expected"), [(LEVELS_MAX, {}), (LEVELS_MAX + 1, {1: "ValueError: nested deeper than 200 levels"})]
)
def test_a_record_that_is_nested_too_deeply_is_set_aside(codec: Codec, levels: int, expected: dict[int, str]) -> None:
    """An operator stands deeper in the stack than the decoder: what only just fits there would end the whole flow."""
    deep: list[Any] = []
    for _ in range(levels - 2):
        deep = [deep]
    encode = msgspec.json.encode if codec == "json" else msgspec.msgpack.encode
    values, errors = Decoder(codec).decode([encode({"a": 1}), encode({"a": deep}), encode({"a": "x" * 10_000})])
    assert (expected, 3) == (errors, len(values) + len(errors))


ODD = {
    "an extension": {"a": Ext(5, b"x")},
    "an extension inside": {"a": [Ext(1, b"12")]},
    "a number for a name": {"a": {1: 2}},
    "bytes for a name": {"a": {"b": [0, {"c": 1, b"d": 2}]}},
    "nothing for a name": {"a": [[{None: 1}]]},
    "a list for a name": {"a": {(1, 2): 3}},
    "deep inside": {"a": [[[[[[{"b": {1: 2}}]]]]]]},
    "a number for a field of the record": {7: 1, "a": 1},
}


PLAIN: list[dict[str, Any]] = [
    {"a": {"z": [1, 1.0, True, None, {"c": "ü"}], "b": 2**64 - 1}},
    {"a": {"z": [b"raw", datetime(2026, 11, 18, tzinfo=UTC), [[[[[{"c": 1}]]]]]]}},
]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("fields", [None, frozenset({"a"})])
def test_what_only_messagepack_can_say_is_set_aside_alone(odd: dict, fields: frozenset[str] | None) -> None:
    """Keys and rankings are JSON: operators raised for their whole batch, again and again, until it was parked."""
    for plain in PLAIN:
        raws = [msgspec.msgpack.encode(each) for each in (plain, odd)]
        values, errors = Decoder("msgpack", fields=fields).decode(raws)
        assert ([plain], [1]) == (values, list(errors))
        group_reader(["a"])(values)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_only_messagepack_can_say_is_set_aside_alone_among_slots(odd: dict) -> None:
    """Slots or entries: operators are the same."""
    for plain in PLAIN:
        raws = [msgspec.msgpack.encode(each) for each in (plain, odd)]
        values, errors = Decoder("msgpack", fields=frozenset({"a"}), slots=True).decode(raws)
        assert ([plain["a"]], [1]) == ([value.a for value in values], list(errors))


@pytest.mark.parametrize("fields", [None, frozenset({"a"})])
def test_what_messagepack_says_is_read_as_it_stands(fields: frozenset[str] | None) -> None:
    """Whether it is checked while it is parsed or afterwards: types and order of fields are the same."""
    decoder = Decoder("msgpack", fields=fields)
    for batch in (PLAIN[:1], PLAIN[1:], PLAIN):
        values, errors = decoder.decode([msgspec.msgpack.encode(each) for each in batch])
        assert (repr(batch), {}) == (repr(values), errors)


def test_what_is_odd_about_a_record_is_told() -> None:
    """It stands in the dead letter, for whoever wrote the record."""
    raws = [msgspec.msgpack.encode(each) for each in ({"a": Ext(5, b"x")}, {"a": {"b": {3: 1}}})]
    _, errors = Decoder("msgpack").decode(raws)
    assert [
        "ValueError: an extension of type 5; of MessagePack's extensions only timestamps are read",
        "ValueError: a field inside it has the name 3; names of fields are text",
    ] == list(errors.values())


def test_timestamps_of_messagepack_are_read() -> None:
    """They have an extension, too, but one that every client knows."""
    moment = datetime(2026, 11, 18, tzinfo=UTC)
    assert ([{"a": moment}], {}) == Decoder("msgpack").decode([msgspec.msgpack.encode({"a": moment})])


@pytest.mark.parametrize(
    ("codec", "raw"),
    [
        ("json", b'{"a": 1, "b": "\xff"}'),
        ("msgpack", msgspec.msgpack.encode({"a": 1, "b": Ext(5, b"x")})),
        ("msgpack", msgspec.msgpack.encode({"a": 1, "b": {2: 3}})),
    ],
)
def test_what_is_wrong_in_a_field_that_nobody_reads_does_not_matter(codec: Codec, raw: bytes) -> None:
    """Also a late record of that kind must not raise."""
    decoder = Decoder(codec, fields=frozenset({"a"}))
    assert ([{"a": 1}], {}) == decoder.decode([raw])
    assert {"a": 1} == decoder.whole(raw)


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_who_reads_by_name_gets_slots_and_whole_records_are_objects(codec: Codec) -> None:
    """A field that is missing is null, as for all who read it."""
    encode = msgspec.json.encode if codec == "json" else msgspec.msgpack.encode
    decoder = Decoder(codec, fields=frozenset({"a", "missing"}), slots=True)
    raw = encode({"a": {"d": 3}, "b": 2})
    (value,), errors = decoder.decode([raw])
    assert ({"d": 3}, None, {}) == (value.a, value.missing, errors)
    assert {"a": {"d": 3}, "b": 2} == decoder.whole(raw)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_record_among_slots_is_set_aside_alone(broken: bytes | None) -> None:
    values, errors = Decoder("json", fields=frozenset({"a"}), slots=True).decode([b'{"a":1}', broken, b'{"a":2}'])
    assert ([1, 2], [1]) == ([value.a for value in values], list(errors))


def test_slots_are_bounded_in_depth_and_broken_ones_still_become_objects() -> None:
    decoder = Decoder("json", fields=frozenset({"a"}), slots=True)
    deep = b'{"a":' + b"[" * LEVELS_MAX + b"]" * LEVELS_MAX + b"}"
    values, errors = decoder.decode([b'{"a":1}', deep, b'{"\\u0061":"' + b"x" * 10_000 + b'"}'])
    assert ([1, "x" * 10_000], [1]) == ([value.a for value in values], list(errors))
    assert {"a": 1} == decoder.whole(b'{"a": 1, "b": "\xff"}')
    long = {"a": 1, "b": "x" * 10_000}
    assert long == decoder.whole(msgspec.json.encode(long)), "its depth is looked at, too"
    assert {} == decoder.whole(b'{"b": "\xff"}'), "no null that nobody wrote"


def batch(*values: dict) -> Batch:
    count = len(values)
    return Batch(list(values), [b"old"] * count, list(range(count)), range(10, 10 + count), 0)


def test_a_sink_keeps_the_key_unless_it_names_a_field() -> None:
    """Consumers partition and compact by this key."""
    values = batch({"k": "x"}, {"k": 5}, {"k": None}, {})
    kept = SinkEncoder(Sink("s", "in", "t"), failures=[]).encode(values)
    named = SinkEncoder(Sink("s", "in", "t", key="k"), failures=[]).encode(values)
    assert [b"old"] * 4 == list(kept.keys)
    assert [b"x", b"5", None, None] == list(named.keys)
    assert [b'{"k":"x"}', b'{"k":5}', b'{"k":null}', b"{}"] == named.values == kept.values


def test_a_value_that_the_codec_cannot_carry_fails_alone() -> None:
    """MessagePack ends at 64 bits; the other results must still go out."""
    failures: list[Failure] = []
    encoded = SinkEncoder(Sink("s", "in", "t", codec="msgpack"), failures=failures).encode(
        batch({"n": 1}, {"n": 2**70}, {"n": 3})
    )
    assert [{"n": 1}, {"n": 3}] == [msgspec.msgpack.decode(raw) for raw in encoded.values]
    assert ([0, 2], [10, 12]) == (list(encoded.times), list(encoded.offsets))
    assert [("s", 11, {"n": 2**70})] == [(each.operator, each.offset, each.value) for each in failures]


def test_a_result_that_is_larger_than_its_topic_takes_fails_alone() -> None:
    """The broker would refuse it with all that is in its transaction, whenever it is tried anew."""
    failures: list[Failure] = []
    encoder = SinkEncoder(Sink("s", "in", "narrow", key="k"), failures=failures, bytes_max=1_000)
    sizes = [10, 600, 2_000, 890, 10, 900]
    values = [{"k": "k" * (20 if n == 3 else 1), "x": "x" * size} for n, size in enumerate(sizes)]
    encoded = encoder.encode(Batch(values, [None] * 6, list(range(6)), range(10, 16), 0))
    assert [10, 600, 10, 900] == [len(msgspec.json.decode(raw)["x"]) for raw in encoded.values]
    assert ([0, 1, 4, 5], [10, 11, 14, 15]) == (list(encoded.times), list(encoded.offsets))
    assert [b"k"] * 4 == encoded.keys
    assert [("s", 12), ("s", 13)] == [(each.operator, each.offset) for each in failures]
    assert "it takes 2,097 bytes; topic narrow takes 1,000 (max.message.bytes)" == failures[0].error
