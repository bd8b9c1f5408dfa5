"""Every message between cells survives the wire, and no bytes get past the decoder but as a counted refusal."""

import contextlib
import typing
from enum import Enum
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.ants.enforcement import EnforcementAnt, Pass, Stop
from placement.ants.letters import Letter
from placement.ants.measuring import MeasuringAnt, RunningStop
from placement.ants.order import Anchor, Order
from placement.ants.trail import Trail
from placement.model import Flow, Sink, Source, Task, chain
from topics.ants.envelope import Contents, Refusal, Travelling, mac_of, seal
from topics.ants.gate import Gate
from topics.ants.kinds import ANT, KINDS, NEWS, TOPIC_OF
from topics.ants.shapes import MisshapenError
from topics.catalogue import ANTS_ROUTING
from topics.messages import AntEnvelope

KEY = b"s" * 32
NAMES = st.text(min_size=1, max_size=12)
FLOATS = st.floats(allow_nan=False)
SIZES = st.floats(min_value=1e-3, max_value=1e6)
INTS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def flows(draw: Any) -> Flow:
    tasks = tuple(
        Task(f"t{k}", draw(SIZES), draw(SIZES), draw(SIZES), draw(SIZES), draw(NAMES))
        for k in range(draw(st.integers(1, 3)))
    )
    source = Source("in", draw(NAMES), draw(SIZES), draw(SIZES), draw(SIZES))
    return chain(draw(NAMES), source, tasks, Sink("out", draw(NAMES)), weight=draw(SIZES))


@st.composite
def trails(draw: Any) -> Trail:
    hosts = tuple(draw(st.lists(NAMES, min_size=1, max_size=4)))
    times = st.tuples(*[FLOATS for _ in hosts])
    return Trail(hosts, draw(times), draw(times), draw(FLOATS), draw(st.integers(0, 300)))


@st.composite
def orders(draw: Any) -> Order:
    flow = draw(flows())
    tasks = tuple(range(len(flow.tasks)))
    anchors = tuple(tuple(draw(st.lists(st.builds(Anchor, NAMES, FLOATS, st.booleans()), max_size=2))) for _ in tasks)
    spots = st.lists(st.tuples(NAMES, INTS), max_size=2).map(tuple)
    shares = tuple(draw(FLOATS) for _ in range(len(tasks) + 1))
    return Order(flow, draw(INTS), draw(INTS), tasks, draw(NAMES), draw(NAMES), shares, anchors, draw(spots))


@st.composite
def enforcement_ants(draw: Any) -> EnforcementAnt:
    stops = tuple(draw(st.lists(st.builds(Stop, NAMES, INTS, FLOATS), min_size=1, max_size=3)))
    at = draw(st.integers(0, len(stops) - 1))
    return EnforcementAnt(
        draw(flows()), draw(INTS), draw(NAMES), stops, draw(FLOATS), True, at, draw(st.sampled_from(Pass)), draw(NAMES)
    )


@st.composite
def measuring_ants(draw: Any) -> MeasuringAnt:
    stops = tuple(draw(st.lists(st.builds(RunningStop, NAMES, INTS, st.just(())), min_size=1, max_size=3)))
    return MeasuringAnt(draw(flows()), draw(INTS), draw(NAMES), stops, False, draw(st.integers(0, len(stops) - 1)))


WHOLE: dict[Any, st.SearchStrategy[Any]] = {
    float: FLOATS,
    int: INTS,
    str: NAMES,
    bool: st.booleans(),
    Trail: trails(),
    Order: orders(),
    Flow: flows(),
    EnforcementAnt: enforcement_ants(),
    MeasuringAnt: measuring_ants(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, small ones."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in WHOLE:
        return WHOLE[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if origin is tuple and Ellipsis in arguments:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if type(None) in arguments:
        return st.none() | values(arguments[0])
    hints = typing.get_type_hints(hint)
    return st.builds(hint, **{name: values(hints[name]) for name in hints})


ANTS = st.one_of(
    *(values(kind) for kind, _ in KINDS.values() if kind is not Letter),
    *(st.builds(Letter, NAMES, values(news)) for news in NEWS.values()),
)


def gate() -> Gate:
    return Gate("mid", KEY, opened_ms=0.0)


@settings(max_examples=200)
@given(ant=ANTS, hops=st.integers(0, 256))
def test_every_message_survives_the_round_trip(ant: Any, hops: int) -> None:
    """The brain on the other host must see exactly what the brain here sent."""
    topic = TOPIC_OF[type(ant)]
    contents = Contents("edge", "b", 1, 5.0, (Travelling(ant, hops, 4.0),))
    value = topic.codec.encode(seal(contents, key=KEY, topic=topic.name, target="mid"), topic=topic.name)
    assert contents == gate().admit(value, topic=topic.name, partition=0, offset=0, now_ms=6.0)


@settings(max_examples=200)
@given(value=st.binary(max_size=300))
def test_random_bytes_are_refused_and_counted(value: bytes) -> None:
    """Anybody may write to a topic."""
    at = gate()
    assert at.admit(value, topic=ANTS_ROUTING.name, partition=0, offset=0, now_ms=6.0) is None
    assert 1 == sum(at.refused.values())


PLAIN = st.recursive(
    st.none() | st.booleans() | INTS | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=8),
    max_leaves=30,
)


@settings(max_examples=200)
@given(plain=PLAIN)
def test_well_sealed_nonsense_is_refused_and_counted(plain: Any) -> None:
    """A host with the key may still have a bug, or another version."""
    topic = ANTS_ROUTING.name
    sealed = msgspec.msgpack.encode(plain)
    envelope = AntEnvelope(target="mid", mac=mac_of(KEY, topic, "mid", sealed), sealed=sealed)
    at = gate()
    value = ANTS_ROUTING.codec.encode(envelope, topic=topic)
    assert at.admit(value, topic=topic, partition=0, offset=0, now_ms=6.0) is None
    assert {Refusal.UNREADABLE: 1} == dict(at.refused)


@settings(max_examples=200)
@given(ant=ANTS, data=st.data())
def test_an_ant_with_one_part_replaced_is_misshapen_or_still_an_ant(ant: Any, data: st.DataObject) -> None:
    """Nothing but MisshapenError may come out of the decoder, whatever is put where."""
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(ANT.pack(ant)))
    at = plain
    while isinstance(inner := at[k := data.draw(st.integers(0, len(at) - 1))], list) and inner:
        at = inner
        if data.draw(st.booleans()):
            k = data.draw(st.integers(0, len(at) - 1))
            break
    at[k] = data.draw(PLAIN)
    with contextlib.suppress(MisshapenError):
        assert type(ANT.unpack(plain)) in TOPIC_OF
