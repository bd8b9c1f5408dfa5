"""Topic names: legal for Kafka, reserved for us, and readable back."""

import re

import pytest

from topics import names
from topics.errors import TopicNameError

LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def test_the_names_are_as_documented() -> None:
    """Users see these names in every Kafka tool, and running clusters hold them: they must not drift."""
    assert [
        "stig.flow.top-talkers.dead-letters",
        "stig.flow.top-talkers.late",
        "stig.flow.top-talkers.edge.tcp.TO.traffic.0",
        "stig.flow.top-talkers.edge.kinds.ROUTE.tcp.TO.traffic.1",
        "stig.flow.top-talkers.changelog.traffic",
        "stig.flow.top-talkers.landmarks",
    ] == [
        names.dead_letter_topic("top-talkers"),
        names.late_topic("top-talkers"),
        names.edge_topic("top-talkers", "tcp", "traffic", 0),
        names.edge_topic("top-talkers", "kinds.tcp", "traffic", 1),
        names.changelog_topic("top-talkers", "traffic"),
        names.landmark_topic("top-talkers"),
    ]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "größe", "a\n", "a.b", "a_b", "A", "..", "{flow}", "a" * 300])
def test_a_name_that_kafka_would_refuse_or_that_would_be_ambiguous_is_refused(name: str) -> None:
    """Kafka takes '.' and '_' for the same, so two flows could not have their topics side by side."""
    with pytest.raises(TopicNameError):
        names.dead_letter_topic(name)


def test_a_name_too_long_says_what_to_shorten() -> None:
    """249 characters is Kafka's limit, not ours, so the error must explain it."""
    with pytest.raises(
        TopicNameError, match="has 257 characters, Kafka allows 249; shorten flow or port or stream or target"
    ):
        names.edge_topic("f" * 80, "u" * 80, "d" * 75, 0)


def test_the_longest_legal_name_is_accepted() -> None:
    """The limit is where Kafka has it, not one before."""
    topic = names.edge_topic("f" * 80, "u" * 80, "d" * 67, 0)
    assert 249 == len(topic)
    assert LEGAL.fullmatch(topic)


def test_a_name_gives_back_its_parts() -> None:
    """Tools that list a cluster's topics tell what they belong to."""
    topic = names.edge_topic("talk", "kinds.tcp", "traffic", 1)
    assert {"flow": "talk", "stream": "kinds.tcp", "target": "traffic", "port": "1"} == names.parse(names.EDGE, topic)
    assert names.parse(names.EDGE, "stig.flow.talk.late") is None
    assert names.parse(names.PLACEMENTS, "stigXplacements") is None


def test_our_own_topics_are_reserved() -> None:
    """A flow that wrote to the registry could take over the cluster."""
    assert names.is_reserved("stig.placements")
    assert not names.is_reserved("stigmata")
