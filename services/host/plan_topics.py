"""The topics of Stigmergy's own that a segment needs before it can run: edges, state, dead letters, late records."""

from collections.abc import Collection

from services.host.segment_plan import SegmentPlan
from topics import catalogue, names
from topics.topic import Declaration


def declarations(plan: SegmentPlan, changelogs: Collection[str]) -> list[Declaration]:
    """All of them, declared as the catalogue says, with the partitions that the plan gives them."""
    edges = {each.topic: each.partitions for each in plan.inputs if each.source is None}
    edges |= {each.topic: each.partitions for each in plan.outputs if each.sink is None}
    state = [(catalogue.CHANGELOG, topic) for topic in changelogs]
    if state:
        state.append((catalogue.SNAPSHOTS, plan.snapshots))
    return [
        *catalogue.of_flow(plan.flow),
        *(catalogue.EDGE.declare(partitions=count, **_parts(names.EDGE, topic)) for topic, count in edges.items()),
        *(topic.declare(partitions=plan.partitions, **_parts(topic.name, name)) for topic, name in state),
    ]


def _parts(template: str, topic: str) -> dict[str, str]:
    parts = names.parse(template, topic)
    assert parts is not None, (template, topic)
    return parts
