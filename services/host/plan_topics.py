"""The topics of Stigmergy's own that a segment needs before it can run: edges, state, dead letters, late records."""

from collections.abc import Collection

from services.host.segment_plan import SegmentPlan
from services.operators.wiring import input_name
from topics import catalogue, names
from topics.flow.graph import Edge
from topics.topic import Declaration


def declarations(plan: SegmentPlan, changelogs: Collection[str]) -> list[Declaration]:
    """All of them, declared as the catalogue says, with the partitions that the plan gives them.

    What has as many partitions as a source topic grows with it. Where the flow itself says how many there are it does
    not: another number would send keys to partitions that do not know them.
    """
    growing = {input_name(edge) for edge in plan.segment.inputs if _grows(plan, edge)}
    edges = {each.topic: (each.partitions, each.name in growing) for each in plan.inputs if each.source is None}
    for each, edge in zip(plan.outputs, plan.segment.outputs, strict=True):
        if each.sink is None:
            edges[each.topic] = each.partitions, _grows(plan, edge)
    state = [(catalogue.CHANGELOG, topic) for topic in changelogs]
    if state:
        state.append((catalogue.SNAPSHOTS, plan.snapshots))
    return [
        *catalogue.of_flow(plan.flow),
        *(
            catalogue.EDGE.declare(partitions=count, may_grow=may_grow, **_parts(names.EDGE, topic))
            for topic, (count, may_grow) in edges.items()
        ),
        *(
            topic.declare(
                partitions=plan.partitions, may_grow=plan.segment.partitions is None, **_parts(topic.name, name)
            )
            for topic, name in state
        ),
    ]


def _grows(plan: SegmentPlan, edge: Edge) -> bool:
    """Whether an edge topic has as many partitions as the segment before it has, and that as many as its sources."""
    return edge.kind == "handover" and plan.graph.stream(edge.stream).partitioning.partitions is None


def _parts(template: str, topic: str) -> dict[str, str]:
    parts = names.parse(template, topic)
    assert parts is not None, (template, topic)
    return parts
