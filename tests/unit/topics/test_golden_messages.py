"""Golden files: bytes that a running cluster may hold stay readable, whatever this version changes (decision 0020)."""

import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from topics.catalogue import CATALOGUE
from topics.codec import Format
from topics.errors import MessageError
from topics.messages import version_of
from topics.topic import Topic

GOLDEN = Path(__file__).parents[2] / "golden"
MAKE = runpy.run_path(str(GOLDEN / "make.py"))
TOPICS = [topic for topic in CATALOGUE if topic.message is not None]
FILES = sorted((GOLDEN / "messages").iterdir())
BY_MESSAGE: dict[str, Topic[Any]] = {topic.message.__name__: topic for topic in TOPICS if topic.message is not None}


def topic_of(path: Path) -> Topic[Any]:
    return BY_MESSAGE[path.name.split(".")[0]]


def decode(topic: Topic[Any], value: bytes) -> Any:
    return topic.codec.decode(value, topic=topic.name, partition=1, offset=2)


def plain(topic: Topic[Any], value: bytes) -> Any:
    """The bytes without any knowledge of the message: dictionaries and lists."""
    return (msgspec.json if topic.format is Format.JSON else msgspec.msgpack).decode(value)


def write(topic: Topic[Any], content: Any) -> bytes:
    return (msgspec.json if topic.format is Format.JSON else msgspec.msgpack).encode(content)


def is_within(old: Any, new: Any) -> bool:
    """Whether everything that the old content says is still said by the new one."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and is_within(part, new[key]) for key, part in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and len(old) <= len(new) and all(map(is_within, old, new))
    return bool(old == new)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_message_has_a_golden_file_that_the_command_would_not_change(topic: Topic[Any]) -> None:
    """A change of the bytes must be seen in review, as a new golden file."""
    samples = {type(sample): sample for sample in MAKE["SAMPLES"]}
    assert topic.message is not None
    known = MAKE["shapes"](topic)
    assert known, f"run python tests/golden/make.py for {topic.message.__name__}"
    assert known[-1].read_bytes() == MAKE["encode"](topic, samples[topic.message])


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_the_newest_golden_file_sets_every_field(topic: Topic[Any]) -> None:
    """A field that no golden file holds could change its meaning unnoticed."""
    assert topic.message is not None
    content = plain(topic, MAKE["shapes"](topic)[-1].read_bytes())
    fields = set(topic.message.__struct_encode_fields__)
    if isinstance(content, dict):
        assert fields | {"version"} == set(content)
    else:
        assert len(fields) + 1 == len(content)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_golden_bytes_are_still_read_and_nothing_in_them_is_lost(path: Path) -> None:
    """The new reader of a rolling upgrade meets old bytes: in compacted topics for years."""
    topic = topic_of(path)
    message = decode(topic, path.read_bytes())
    again = topic.codec.encode(message, topic=topic.name)
    assert is_within(plain(topic, path.read_bytes()), plain(topic, again))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_newer_minor_version_is_read_as_what_we_know_of_it(path: Path) -> None:
    """The old reader of a rolling upgrade meets new bytes, with optional fields that were added at the end."""
    topic = topic_of(path)
    content = plain(topic, path.read_bytes())
    newer = content | {"added_later": [1, {"a": None}]} if isinstance(content, dict) else [*content, {"added": 1}]
    assert decode(topic, path.read_bytes()) == decode(topic, write(topic, newer))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_another_major_version_is_refused_by_name(path: Path) -> None:
    """A major version is raised when an old reader would misread the bytes, so it must not try."""
    topic = topic_of(path)
    assert topic.message is not None
    content = plain(topic, path.read_bytes())
    version = version_of(topic.message) + 1
    newer = content | {"version": version} if isinstance(content, dict) else [version, *content[1:]]
    with pytest.raises(MessageError, match=f"it has version {version}; upgrade this reader"):
        decode(topic, write(topic, newer))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_truncated_prefix_gives_the_typed_error(path: Path) -> None:
    """A half-written message must never pass for a whole one."""
    topic = topic_of(path)
    value = path.read_bytes()
    for length in range(len(value)):
        with pytest.raises(MessageError) as caught:
            decode(topic, value[:length])
        assert (topic.name, 1, 2) == (caught.value.topic, caught.value.partition, caught.value.offset)
