"""Whatever bytes lie on a topic, a reader gets a message or the one typed error; nothing else, and never a crash."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.catalogue import CATALOGUE
from topics.codec import Format
from topics.errors import MessageError
from topics.topic import Topic

GOLDEN = Path(__file__).parents[2] / "golden" / "messages"
TOPICS = [topic for topic in CATALOGUE if topic.message is not None]
EXAMPLES = 60

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def golden(topic: Topic[Any]) -> bytes:
    assert topic.message is not None
    return min(GOLDEN.glob(f"{topic.message.__name__}.*")).read_bytes()


def read(topic: Topic[Any], value: bytes) -> None:
    """Decodes; a message must be of the topic's type, and an error the typed one, with its place."""
    try:
        outcome: object = topic.codec.decode(value, topic=topic.name, partition=5, offset=6)
    except MessageError as error:
        outcome = error
    if isinstance(outcome, MessageError):
        assert (topic.name, 5, 6) == (outcome.topic, outcome.partition, outcome.offset)
        assert outcome.problem
    else:
        assert topic.message is type(outcome)


@st.composite
def mutations(draw: st.DrawFn, value: bytes) -> bytes:
    """The bytes with a few of them replaced, removed, doubled or inserted."""
    mutated = bytearray(value)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(mutated) - 1)))
        end = place + draw(st.integers(0, 8))
        mutated[place:end] = draw(st.binary(max_size=8) | st.just(bytes(mutated[place:end]) * 2))
    return bytes(mutated)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_mutated_messages_give_a_message_or_the_typed_error(topic: Topic[Any], data: st.DataObject) -> None:
    """A flipped bit on disk or a foreign writer must not stop a host."""
    read(topic, data.draw(mutations(golden(topic))))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
@given(value=st.binary(max_size=200))
@settings(max_examples=EXAMPLES)
def test_random_bytes_give_the_typed_error(topic: Topic[Any], value: bytes) -> None:
    """Anybody can produce to a topic."""
    read(topic, value)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_a_field_of_the_wrong_kind_gives_the_typed_error_or_a_message(topic: Topic[Any], data: st.DataObject) -> None:
    """Well-formed JSON or MessagePack with junk in one field is what a buggy writer sends."""
    library = msgspec.json if topic.format is Format.JSON else msgspec.msgpack
    content = library.decode(golden(topic))
    places = list(content) if isinstance(content, dict) else list(range(len(content)))
    content[data.draw(st.sampled_from(places))] = data.draw(JUNK)
    read(topic, library.encode(content))
