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
        "stig.flow.top-talkers.edge.tcp.traffic",
        "stig.flow.top-talkers.edge.kinds.tcp.traffic",
        "stig.flow.top-talkers.changelog.traffic",
    ] == [
        names.dead_letter_topic("top-talkers"),
        names.late_topic("top-talkers"),
        names.edge_topic("top-talkers", "tcp", "traffic"),
        names.edge_topic("top-talkers", "kinds.tcp", "traffic"),
        names.changelog_topic("top-talkers", "traffic"),
    ]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "größe", "a\n", "a.b", "..", "{flow}", "a" * 300])
def test_a_name_that_kafka_would_refuse_or_that_would_be_ambiguous_is_refused(name: str) -> None:
    """A dot inside a part would make two flows share a topic."""
    with pytest.raises(TopicNameError):
        names.dead_letter_topic(name)


def test_a_name_too_long_says_what_to_shorten() -> None:
    """249 characters is Kafka's limit, not ours, so the error must explain it."""
    with pytest.raises(
        TopicNameError, match="has 258 characters, Kafka allows 249; shorten downstream or flow or upstream"
    ):
        names.edge_topic("f" * 80, "u" * 80, "d" * 81)


def test_the_longest_legal_name_is_accepted() -> None:
    """The limit is where Kafka has it, not one before."""
    topic = names.edge_topic("f" * 80, "u" * 80, "d" * 72)
    assert 249 == len(topic)
    assert LEGAL.fullmatch(topic)


def test_a_name_gives_back_its_parts() -> None:
    """Tools that list a cluster's topics tell what they belong to."""
    assert {"flow": "talk", "upstream": "kinds.tcp", "downstream": "traffic"} == names.parse(
        names.EDGE, "stig.flow.talk.edge.kinds.tcp.traffic"
    )
    assert {"flow": "edge", "upstream": "edge", "downstream": "edge"} == names.parse(
        names.EDGE, "stig.flow.edge.edge.edge.edge"
    )
    assert names.parse(names.EDGE, "stig.flow.talk.late") is None
    assert names.parse(names.PLACEMENTS, "stigXplacements") is None


def test_our_own_topics_are_reserved() -> None:
    """A flow that wrote to the registry could take over the cluster."""
    assert names.is_reserved("stig.placements")
    assert not names.is_reserved("stigmata")
