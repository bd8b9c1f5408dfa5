"""Topic names: the one place where they are spelled.

A name is a template whose `{parts}` are filled with names from a flow file. Topics of Stigmergy start with `stig.`;
no flow may use such a topic as its source or sink.
"""

import re

from topics.errors import TopicNameError

RESERVED_PREFIX = "stig."
TOPIC_LENGTH_MAX = 249
"""Kafka's own limit: a topic is a folder name on the broker, with room for the partition's number."""

FLOWS = "stig.flows"
HOSTS = "stig.hosts"
PLACEMENTS = "stig.placements"
SEGMENTS_STATUS = "stig.segments.status"
METRICS_OPERATORS = "stig.metrics.operators"
METRICS_HOSTS = "stig.metrics.hosts"
METRICS_LINKS = "stig.metrics.links"
DEAD_LETTERS = "stig.flow.{flow}.dead-letters"
LATE = "stig.flow.{flow}.late"
EDGE = "stig.flow.{flow}.edge.{upstream}.{downstream}"
CHANGELOG = "stig.flow.{flow}.changelog.{operator}"

_WORD = "[A-Za-z0-9_-]+"
_PART_PATTERNS = {"upstream": rf"{_WORD}(?:\.{_WORD})?"}
"""What a part looks like. Only an edge's upstream may hold a dot: one route of a split, written `split.route`."""


def dead_letter_topic(flow: str) -> str:
    """Where a flow's records go that could not be processed."""
    return fill(DEAD_LETTERS, flow=flow)


def late_topic(flow: str) -> str:
    """Where a flow's records go that came after their window had closed."""
    return fill(LATE, flow=flow)


def edge_topic(flow: str, upstream: str, downstream: str) -> str:
    """What runs from one operator to the next when they are in different segments.

    Named by operators, not by segments: the edge stays the same when the flow is cut into other segments.
    """
    return fill(EDGE, flow=flow, upstream=upstream, downstream=downstream)


def changelog_topic(flow: str, operator: str) -> str:
    """Where an operator's state is kept, so that any host can rebuild it."""
    return fill(CHANGELOG, flow=flow, operator=operator)


def is_reserved(topic: str) -> bool:
    """Whether a topic belongs to Stigmergy itself."""
    return topic.startswith(RESERVED_PREFIX)


def fill(template: str, **parts: str) -> str:
    """The topic that a template names for these parts. Raises TopicNameError when Kafka would refuse it."""
    for part, name in parts.items():
        if re.fullmatch(_PART_PATTERNS.get(part, _WORD), name) is None:
            raise TopicNameError(f"{part} {name!r} cannot be part of a topic's name; use letters, digits, '-' and '_'")
    topic = template.format(**parts)
    if len(topic) > TOPIC_LENGTH_MAX:
        shorten = " or ".join(sorted(parts))
        raise TopicNameError(
            f"topic {topic!r} has {len(topic)} characters, Kafka allows {TOPIC_LENGTH_MAX}; shorten {shorten}"
        )
    return topic


def parse(template: str, topic: str) -> dict[str, str] | None:
    """The parts that make this topic from this template; None if it is not one of its topics."""
    pattern = re.sub(r"\\\{(\w+)\\\}", lambda m: f"(?P<{m[1]}>{_PART_PATTERNS.get(m[1], _WORD)})", re.escape(template))
    match = re.fullmatch(pattern, topic)
    return match.groupdict() if match else None
