"""The gate: every way to bring a host false ants ends in a count and nothing else."""

import zlib

import msgspec
import pytest
from aiokafka.producer.message_accumulator import BatchBuilder

from placement.ants.enforcement import Release
from placement.scent import Announce
from topics.ants.envelope import PLAIN_BYTES_MAX, Contents, Refusal, Travelling, mac_of, seal
from topics.ants.gate import WINDOW, Gate, GateParams
from topics.catalogue import ANTS_ENFORCEMENT, ANTS_ROUTING
from topics.messages import AntEnvelope
from topics.messages.ants import SEALED_BYTES_MAX

KEY = b"k" * 32
NOW_MS = 1_000_000.0


def gate(name: str = "mid") -> Gate:
    return Gate(name, KEY, opened_ms=NOW_MS - 60_000)


def contents(sequence: int = 0, *, sent_ms: float = NOW_MS, boot: str = "b1", hops: int = 0) -> Contents:
    return Contents("edge", boot, sequence, sent_ms, (Travelling(Announce("mid"), hops, sent_ms),))


def sealed(what: Contents, *, key: bytes = KEY, target: str = "mid") -> bytes:
    topic = ANTS_ROUTING.name
    return ANTS_ROUTING.codec.encode(seal(what, key=key, topic=topic, target=target), topic=topic)


def admit(at: Gate, value: bytes, *, now_ms: float = NOW_MS, topic: str = ANTS_ROUTING.name) -> Contents | None:
    return at.admit(value, topic=topic, partition=3, offset=4, now_ms=now_ms)


def only(refusal: Refusal) -> dict[Refusal, int]:
    return {refusal: 1}


def counted(at: Gate) -> dict[Refusal, int]:
    return {refusal: count for refusal, count in at.refused.items() if count}


def test_a_genuine_envelope_comes_in_once() -> None:
    """The second time it is a replay, although its seal is good."""
    at, value = gate(), sealed(contents())
    assert contents() == admit(at, value)
    assert admit(at, value) is None
    assert only(Refusal.REPLAYED) == counted(at)


def test_another_key_forges_nothing() -> None:
    """Whoever can write to the topic but does not have the key must not move a flow."""
    at = gate()
    assert admit(at, sealed(contents(), key=b"x" * 32)) is None
    assert only(Refusal.FORGED) == counted(at)


@pytest.mark.parametrize("count", [1, 20])
def test_ants_weigh_what_a_broker_writes_for_them(count: int) -> None:
    """The batch around them was not counted, which can be more than they are: flows spent beyond their share."""
    sent = Contents("edge", "b1", 0, NOW_MS, (Travelling(Announce("a-destination"), 0, NOW_MS),) * count)
    value = sealed(sent)
    batch = BatchBuilder(100_000, 0, is_transactional=False)
    batch.append(timestamp=int(NOW_MS), key=b"mid", value=value)
    came = admit(gate(), value)
    assert came is not None
    assert pytest.approx(len(batch._build()), abs=8) == came.size_bytes


@pytest.mark.parametrize("position", range(0, 40, 3))
def test_a_changed_byte_of_the_contents_breaks_the_seal(position: int) -> None:
    """The seal covers all of it."""
    at = gate()
    envelope = seal(contents(), key=KEY, topic=ANTS_ROUTING.name, target="mid")
    changed = bytearray(envelope.sealed)
    changed[position % len(changed)] ^= 0x01
    value = ANTS_ROUTING.codec.encode(msgspec.structs.replace(envelope, sealed=bytes(changed)), topic=ANTS_ROUTING.name)
    assert admit(at, value) is None
    assert only(Refusal.FORGED) == counted(at)


def test_an_envelope_can_be_turned_neither_to_another_host_nor_to_another_topic() -> None:
    """A seal that did not cover the address would let a recorded ant work elsewhere."""
    envelope = seal(contents(), key=KEY, topic=ANTS_ROUTING.name, target="mid")
    turned = msgspec.structs.replace(envelope, target="noc")
    other = gate("noc")
    assert admit(other, ANTS_ROUTING.codec.encode(turned, topic=ANTS_ROUTING.name)) is None
    assert only(Refusal.FORGED) == counted(other)
    at = gate()
    assert admit(at, sealed(contents()), topic=ANTS_ENFORCEMENT.name) is None
    assert only(Refusal.FORGED) == counted(at)
    assert admit(other, sealed(contents())) is None
    assert 1 == other.refused[Refusal.MISADDRESSED]


def test_old_and_early_envelopes_stay_outside() -> None:
    """Nothing is remembered of senders beyond the age limit, so nothing older may come in."""
    params = GateParams()
    at = gate()
    assert admit(at, sealed(contents(1, sent_ms=NOW_MS - params.age_max_ms - 1))) is None
    assert admit(at, sealed(contents(2, sent_ms=NOW_MS + params.early_max_ms + 1))) is None
    assert {Refusal.TOO_OLD: 1, Refusal.TOO_EARLY: 1} == counted(at)


def test_a_host_that_has_just_started_takes_nothing_from_before() -> None:
    """It has forgotten what it had taken before it went down."""
    at = Gate("mid", KEY, opened_ms=NOW_MS)
    assert admit(at, sealed(contents(sent_ms=NOW_MS - 1))) is None
    assert only(Refusal.TOO_OLD) == counted(at)


def test_a_sender_that_starts_again_counts_from_the_beginning() -> None:
    """Its boot id tells it from the process before."""
    at = gate()
    assert admit(at, sealed(contents(5))) is not None
    assert admit(at, sealed(contents(0, boot="b2"))) is not None
    assert admit(at, sealed(contents(5))) is None


def test_numbers_may_overtake_each_other_within_the_window_only() -> None:
    """Three topics are read side by side."""
    at = gate()
    for sequence in (WINDOW + 1, 2, 3):
        assert admit(at, sealed(contents(sequence))) is not None
    for sequence in (1, 2, 3, WINDOW + 1):
        assert admit(at, sealed(contents(sequence))) is None
    assert 4 == at.refused[Refusal.REPLAYED]


def test_no_replay_gets_in_after_its_sender_was_forgotten() -> None:
    """Forgetting bounds the memory; the age limit covers for it."""
    params = GateParams()
    at = gate()
    value = sealed(contents(sent_ms=NOW_MS + params.early_max_ms))
    assert admit(at, value) is not None
    for later_ms in range(0, int(2 * (params.age_max_ms + params.early_max_ms)), 500):
        assert admit(at, sealed(contents(later_ms, boot="other", sent_ms=NOW_MS + later_ms)), now_ms=NOW_MS + later_ms)
        assert admit(at, value, now_ms=NOW_MS + later_ms) is None


def test_ants_that_travel_for_ever_are_dropped_and_their_companions_are_not() -> None:
    """A loop in a graph that changes must end, whatever the brain does."""
    at = gate()
    ages = (Travelling(Announce("a"), 257, NOW_MS), Travelling(Announce("b"), 1, NOW_MS - 200_000))
    young = Travelling(Announce("c"), 256, NOW_MS)
    came = admit(at, sealed(Contents("edge", "b1", 0, NOW_MS, (*ages, young))))
    assert came is not None
    assert (young,) == came.ants
    assert {Refusal.TOO_FAR: 2} == counted(at)


def test_ants_that_are_alike_weigh_little_together() -> None:
    """Scouts of one release carry the same order; what they weighed is told with them."""
    crowd = tuple(Travelling(Announce(f"a-host-with-a-long-name-{n}"), 1, NOW_MS) for n in range(100))
    value = sealed(Contents("edge", "b1", 0, NOW_MS, crowd))
    came = admit(gate(), value)
    assert came is not None
    assert crowd == came.ants
    assert 1_500 > came.size_bytes > len(value) > 32


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"\x02rest",
        b"\x01no stream at all",
        b"\x01" + zlib.compress(b"0" * (PLAIN_BYTES_MAX + 1), 9),
        b"\x01" + zlib.compress(b"\x90") + b"more",
    ],
    ids=["nothing", "unknown form", "no stream", "too much inside", "more behind"],
)
def test_contents_that_do_not_inflate_are_counted(inside: bytes) -> None:
    """A few bytes must not become a host's whole memory, whoever had the key."""
    at, topic = gate(), ANTS_ROUTING.name
    envelope = AntEnvelope(target="mid", mac=mac_of(KEY, topic, "mid", inside), sealed=inside)
    assert admit(at, ANTS_ROUTING.codec.encode(envelope, topic=topic)) is None
    assert only(Refusal.UNREADABLE) == counted(at)


def test_truncated_and_oversized_values_are_counted() -> None:
    """Bytes that are no envelope at all."""
    at, value = gate(), sealed(contents())
    large = AntEnvelope(target="mid", mac=bytes(32), sealed=bytes(SEALED_BYTES_MAX))
    too_large = msgspec.msgpack.encode(large).replace(b"mid", b"mid" * 1_000)
    for bad in (b"", value[:-1], value[: len(value) // 2], too_large, None):
        assert admit(at, bad) is None  # type: ignore[arg-type]
    assert {Refusal.UNREADABLE: 5} == counted(at)


def test_an_ant_of_another_topic_is_refused_although_its_seal_is_good() -> None:
    """A host with the key but a bug can't slip an order past the topic that is read in order."""
    topic = ANTS_ROUTING.name
    smuggled = seal(
        Contents("edge", "b1", 0, NOW_MS, (Travelling(Release("talk", 1), 0, NOW_MS),)),
        key=KEY,
        topic=ANTS_ENFORCEMENT.name,
        target="mid",
    )
    forged = msgspec.structs.replace(smuggled, mac=mac_of(KEY, topic, "mid", smuggled.sealed))
    at = gate()
    assert admit(at, ANTS_ROUTING.codec.encode(forged, topic=topic)) is None
    assert only(Refusal.UNREADABLE) == counted(at)


def test_how_late_ants_come_is_known_also_of_those_that_come_too_late() -> None:
    """Else the longest lag of all would look like none."""
    at = gate()
    assert admit(at, sealed(contents(sent_ms=NOW_MS - 40_000))) is None
    assert (only(Refusal.TOO_OLD), 40_000) == (counted(at), at.age_ms)
    assert admit(at, sealed(contents(1, sent_ms=NOW_MS - 90_000), key=b"x" * 32)) is None
    assert 40_000 == at.age_ms, "who has no key says nothing"


@pytest.mark.parametrize("age_ms", [1_000, 40_000])
def test_a_replay_is_no_lag(age_ms: float) -> None:
    """Leaders hold back while ants come late: whoever could write to the topic would have silenced them all."""
    at, params = gate(), GateParams()
    value = sealed(contents(sent_ms=NOW_MS))
    assert admit(at, value) is not None
    for later_ms in range(0, int(2 * params.remembered_ms), 30_000):
        assert admit(at, value, now_ms=NOW_MS + age_ms + later_ms) is None
        assert 0 == at.age_ms


def test_what_came_too_late_to_be_let_in_is_a_replay_when_it_comes_again() -> None:
    """It told of a lag once; that lag may be over."""
    at, late = gate(), sealed(contents(sent_ms=NOW_MS - 40_000))
    assert admit(at, late) is None
    assert admit(at, sealed(contents(1))) is not None
    assert admit(at, late) is None
    assert 0 == at.age_ms


def test_what_was_sent_before_a_host_started_is_no_lag() -> None:
    """It has forgotten what it had taken, so all of that could be replayed."""
    at = Gate("mid", KEY, opened_ms=NOW_MS)
    assert admit(at, sealed(contents(sent_ms=NOW_MS - 10_000)), now_ms=NOW_MS + 5_000) is None
    assert 0 == at.age_ms


def test_a_gate_remembers_what_it_lets_in() -> None:
    """Else it would come in again."""
    with pytest.raises(ValueError, match="remembered_ms"):
        GateParams(age_max_ms=30_000, remembered_ms=20_000)
