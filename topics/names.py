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
PLANS = "stig.plans"
PROPOSALS = "stig.proposals"
ANTS_ROUTING = "stig.ants.routing"
ANTS_SCOUTING = "stig.ants.scouting"
ANTS_ENFORCEMENT = "stig.ants.enforcement"
POLICIES = "stig.policies"
REQUESTS = "stig.requests"
DECISIONS = "stig.decisions"
LEASES = "stig.leases"
MOVES = "stig.moves"
HANDOVERS = "stig.handovers"
STANDBYS = "stig.standbys"
METRICS_OPERATORS = "stig.metrics.operators"
METRICS_HOSTS = "stig.metrics.hosts"
METRICS_LINKS = "stig.metrics.links"
METRICS_REJECTED = "stig.metrics.rejected"
MODELS = "stig.models"
DEAD_LETTERS = "stig.flow.{flow}.dead-letters"
LATE = "stig.flow.{flow}.late"
EDGE = "stig.flow.{flow}.edge.{stream}.TO.{target}.{port}"
CHANGELOG = "stig.flow.{flow}.changelog.{operator}"
SNAPSHOTS = "stig.flow.{flow}.snapshots.{segment}"
LANDMARKS = "stig.flow.{flow}.landmarks"

_WORD = "[a-z0-9_-]+"
_PARTS = {
    "flow": "[a-z0-9-]+",
    "stream": rf"{_WORD}(?:\.ROUTE\.{_WORD})?",
    "target": _WORD,
    "port": "[0-9]+",
    "operator": _WORD,
    "segment": "[0-9a-f]+",
}
"""What each part looks like in a topic's name.

Kafka takes '.' and '_' for the same and refuses a topic that differs from another one only there. So flows have no '_',
and what separates operators is in capitals, which their names never are: no two edges are mistaken for each other.
"""


def dead_letter_topic(flow: str) -> str:
    """Where a flow's records go that could not be processed."""
    return fill(DEAD_LETTERS, flow=flow)


def late_topic(flow: str) -> str:
    """Where a flow's records go that came after their window had closed."""
    return fill(LATE, flow=flow)


def edge_topic(flow: str, stream: str, target: str, port: int) -> str:
    """What carries a stream (an operator's name, or `split.route`) to an input of an operator in another segment.

    Named by operators, not by segments: the edge stays the same when the flow is cut into other segments. The port
    tells a join's inputs apart when both read the same stream.
    """
    return fill(EDGE, flow=flow, stream=stream, target=target, port=port)


def changelog_topic(flow: str, operator: str) -> str:
    """Where an operator's state is kept, so that any host can rebuild it."""
    return fill(CHANGELOG, flow=flow, operator=operator)


def snapshot_topic(flow: str, segment: str) -> str:
    """Where whole states of a segment are kept; `segment` is its id without the flow's name."""
    return fill(SNAPSHOTS, flow=flow, segment=segment)


def landmark_topic(flow: str) -> str:
    """Where a flow's tasks note that they have begun, and from time to time where they stand."""
    return fill(LANDMARKS, flow=flow)


def is_reserved(topic: str) -> bool:
    """Whether a topic belongs to Stigmergy itself."""
    return topic.startswith(RESERVED_PREFIX)


def fill(template: str, **parts: str | int) -> str:
    """The topic that a template names for these parts. Raises TopicNameError when Kafka would refuse it."""
    spelled = {part: str(name).replace(".", ".ROUTE.") for part, name in parts.items()}
    for part, name in spelled.items():
        if re.fullmatch(_PARTS[part], name) is None:
            raise TopicNameError(
                f"{part} {parts[part]!r} cannot be part of a topic's name; use lower-case letters, digits and '-'"
            )
    topic = template.format(**spelled)
    if len(topic) > TOPIC_LENGTH_MAX:
        shorten = " or ".join(sorted(parts))
        raise TopicNameError(
            f"topic {topic!r} has {len(topic)} characters, Kafka allows {TOPIC_LENGTH_MAX}; shorten {shorten}"
        )
    return topic


def parse(template: str, topic: str) -> dict[str, str] | None:
    """The parts that make this topic from this template; None if it is not one of its topics."""
    pattern = re.sub(r"\\{(\w+)\\}", lambda part: f"(?P<{part[1]}>{_PARTS[part[1]]})", re.escape(template))
    match = re.fullmatch(pattern, topic)
    return {part: name.replace(".ROUTE.", ".") for part, name in match.groupdict().items()} if match else None
