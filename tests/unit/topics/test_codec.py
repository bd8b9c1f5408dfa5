"""The codec: one typed error for everything that can be wrong, and hardly any cost when nothing is."""

import time
import timeit

import msgspec
import pytest

from topics.catalogue import EDGE, FLOWS, HOSTS, LATE, METRICS_HOSTS, PLACEMENTS, SEGMENTS_STATUS
from topics.errors import MessageError, OtherVersionError
from topics.messages import HostMetrics, HostRegistration, LateRecord, Moments, Origin, Placement, SegmentStatus

PLACEMENT = Placement(
    segment="talk.s1",
    partition=2,
    epoch=7,
    host="edge-1",
    flow="talk",
    revision=3,
    operators=("tcp", "traffic"),
    placed_ms=1_763_264_630_000,
)
HOST = HostRegistration(
    host="edge-1", region="north", capacity=1.5, address="127.0.0.1:1", boot_id="5f", started_ms=1_763_264_600_000
)


def decode_placement(value: bytes | None) -> Placement:
    return PLACEMENTS.codec.decode(value, topic="stig.placements", partition=4, offset=42)


def late(value: object) -> LateRecord:
    return LateRecord(
        flow="talk",
        operator="traffic",
        origin=Origin(topic="packets", partition=0, offset=1),
        event_time_ms=1,
        watermark_ms=2,
        seen_ms=3,
        key=None,
        value=value,
    )


def test_a_message_comes_back_as_it_was() -> None:
    """The least a codec must do."""
    assert PLACEMENT == decode_placement(PLACEMENTS.codec.encode(PLACEMENT, topic="stig.placements"))


def test_the_version_is_the_first_thing_in_the_bytes() -> None:
    """A person or a foreign reader sees at once which version lies before them."""
    assert PLACEMENTS.codec.encode(PLACEMENT, topic="stig.placements").startswith(b'{"version":1,"segment":')


def test_the_error_says_where_and_what_was_expected() -> None:
    """An operator must be able to find the record and know what should have been there."""
    with pytest.raises(MessageError) as caught:
        decode_placement(b"garbage")
    error = caught.value
    assert ("stig.placements", 4, 42) == (error.topic, error.partition, error.offset)
    assert "Placement version 1 as JSON of at most 65,536 bytes" == error.expected
    assert str(error).startswith("stig.placements[4] at offset 42: expected Placement version 1 as JSON")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "the value is null"),
        (b"", "Input data was truncated"),
        (b'{"version":1,"segment":"talk', "Input data was truncated"),
        (b'{"segment":"talk.s1"}', "missing required field `version`"),
        (b'{"version":1,"segment":"talk.s1"}', "missing required field `partition`"),
        (b'{"version":2,"segment":"talk.s1"}', "it has version 2; upgrade this reader"),
        (b'{"version":0,"segment":"talk.s1"}', "it has version 0, which is no longer read"),
        (b'{"version":-1,"impossible":""}', "it has version -1, which is no longer read"),
        (b'{"version":"1","segment":"talk.s1"}', "Expected `int` - at `$.version`"),
        (b'{"version":1,"segment":5}', "Expected `str`, got `int` - at `$.segment`"),
        (b'{"version":1,"segment":"talk.s1","partition":-1}', "Expected `int` >= 0 - at `$.partition`"),
        (b'{"version":1,"segment":"\xff"}', "can't decode byte 0xff"),
        (b'{"version":1,"segment":' + b"[" * 50_000, "Expected `str`, got `array`"),
        (b'{"version":1,"later":' + b"[" * 50_000, "recursion"),
        (b"[]", "Expected `object`, got `array`"),
        (b" " * 65_537, "it has 65,537 bytes"),
    ],
)
def test_bad_bytes_give_the_typed_error_with_their_fault(value: bytes | None, problem: str) -> None:
    """A reader has one thing to catch, and a person reads what is wrong."""
    with pytest.raises(MessageError) as caught:
        decode_placement(value)
    assert problem in caught.value.problem


def test_an_unknown_version_is_named_even_where_its_fields_differ() -> None:
    """The fields of a version that we do not know are not worth complaining about."""
    with pytest.raises(OtherVersionError, match="it has version 9; upgrade this reader"):
        decode_placement(b'{"shape":"other","version":9}')


def test_what_is_wrong_with_our_own_version_is_no_other_version() -> None:
    """Who sets aside what strangers write must know it from what a later version of ours has written."""
    with pytest.raises(MessageError) as caught:
        decode_placement(b'{"shape":"other","version":1}')
    assert not isinstance(caught.value, OtherVersionError)


@pytest.mark.parametrize(
    ("written", "is_ours"),
    [
        ([2, "talk.s1", 0], True),
        ([2, "talk.s1", "x" * 3_000_000], True),
        ([1_700_000_000, 21.5], False),
        ([0], False),
        ([-1, "talk.s1"], False),
        ([False, "talk.s1"], False),
        ([], False),
    ],
)
def test_an_array_is_another_version_of_ours_only_if_it_looks_like_one(written: list[object], is_ours: bool) -> None:
    """Compact telemetry begins with a number, too; and what a later version has written may be larger than ours."""
    with pytest.raises(MessageError) as caught:
        EDGE.codec.decode(msgspec.msgpack.encode(written), topic="e", partition=0, offset=0)
    assert is_ours is isinstance(caught.value, OtherVersionError)


def test_a_field_from_the_future_is_skipped() -> None:
    """During a rolling upgrade, new writers add optional fields that old readers do not know."""
    value = PLACEMENTS.codec.encode(PLACEMENT, topic="stig.placements")
    assert PLACEMENT == decode_placement(value[:-1] + b',"added_later":{"a":[1,2]}}')


def test_defaults_are_not_written() -> None:
    """What is not there takes no bytes; a reader sees the default."""
    assert b"standbys" not in PLACEMENTS.codec.encode(PLACEMENT, topic="stig.placements")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (msgspec.structs.replace(HOST, capacity=float("nan")), "Expected `float`, got `null` - at `$.capacity`"),
        (msgspec.structs.replace(HOST, capacity=0.0), "Expected `float` > 0.0 - at `$.capacity`"),
        (msgspec.structs.replace(HOST, host=""), "Expected `str` of length >= 1 - at `$.host`"),
        (msgspec.structs.replace(HOST, host="\ud800"), "surrogates not allowed"),
        (msgspec.structs.replace(HOST, address="a" * 70_000), "it has 70,"),
    ],
)
def test_what_no_reader_would_accept_is_not_written(message: HostRegistration, problem: str) -> None:
    """A bad message on a compacted topic would stay for ever and stop every host that starts."""
    with pytest.raises(MessageError) as caught:
        HOSTS.codec.encode(message, topic="stig.hosts")
    assert problem in caught.value.problem
    assert (None, None) == (caught.value.partition, caught.value.offset)
    assert str(caught.value).startswith("stig.hosts, to be written: expected HostRegistration")


@pytest.mark.parametrize("value", [1j, {"f": object()}, {"deep": "\ud800"}])
def test_a_late_value_that_json_cannot_hold_gives_the_typed_error(value: object) -> None:
    """Values of users come through here; whatever they are, a host must get an error that it knows."""
    with pytest.raises(MessageError):
        LATE.codec.encode(late(value), topic="stig.flow.talk.late")


def test_endless_nesting_gives_the_typed_error() -> None:
    """A value that contains itself must not take the host down."""
    value: list[object] = []
    value.append(value)
    with pytest.raises(MessageError):
        LATE.codec.encode(late(value), topic="stig.flow.talk.late")


def test_a_parked_segment_says_why() -> None:
    """`parked` without a reason would leave a person guessing, so neither a writer nor a reader lets it pass."""
    with pytest.raises(ValueError, match="a parked segment must say its reason"):
        SegmentStatus(
            segment="s", partition=0, host="h", epoch=1, state="parked", since_ms=1, reported_ms=1, lag=0, reason=""
        )
    value = (
        b'{"version":1,"segment":"s","partition":0,"host":"h","epoch":1,"state":"parked",'
        b'"since_ms":1,"reported_ms":1,"lag":0}'
    )
    with pytest.raises(MessageError, match="a parked segment must say its reason"):
        SEGMENTS_STATUS.codec.decode(value, topic="stig.segments.status", partition=0, offset=0)


def test_the_largest_flow_file_fits() -> None:
    """A flow that passed its own limit must not be refused by its topic."""
    from topics.messages import FLOW_TEXT_LENGTH_MAX, FlowRevision

    revision = FlowRevision(
        flow="f",
        revision=1,
        state="submitted",
        text="€" * FLOW_TEXT_LENGTH_MAX,
        delivery="at_least_once",
        changed_ms=1,
    )
    assert FLOWS.bytes_max >= len(FLOWS.codec.encode(revision, topic="stig.flows"))


def test_decoding_costs_little_more_than_msgspec_itself() -> None:
    """Readers of metrics decode thousands of messages a second; the typed error must be free until it is needed."""
    message = HostMetrics(
        host="edge-1",
        boot_id="5f",
        second=1_763_264_651,
        cpu=0.5,
        memory_bytes=10**8,
        capacity=1.0,
        operators=3,
        loop_delay_ms=Moments(100, 40.0, 30.0),
        loop_delay_ms_max=3.0,
        clock_offset_ms=0.0,
    )
    value = METRICS_HOSTS.codec.encode(message, topic="stig.metrics.hosts")
    bare, ours = msgspec.json.Decoder(HostMetrics).decode, METRICS_HOSTS.codec.decode

    calls = (lambda: ours(value, topic="stig.metrics.hosts", partition=0, offset=1)), (lambda: bare(value))
    # In turns, by CPU time: other processes share the machine.
    turns = [[timeit.timeit(call, timer=time.process_time, number=500) for call in calls] for _ in range(40)]
    ours_us, bare_us = (min(costs) / 500 * 1e6 for costs in zip(*turns, strict=True))
    assert ours_us < 1.7 * bare_us, f"{ours_us:.2f} us a message, msgspec alone {bare_us:.2f} us"
