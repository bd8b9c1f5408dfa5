"""Remarks on a compiled flow for its author: what the compiler added, and what may not be meant so."""

from collections.abc import Sequence

from topics.flow.describe import partition_count
from topics.flow.graph import Edge, Operator
from topics.flow.specs import Qos


def notes_on(qos: Qos, operators: Sequence[Operator], edges: Sequence[Edge]) -> tuple[str, ...]:
    notes = ["qos.availability: kept with the flow, but nothing acts on it yet"] if qos.availability is not None else []
    notes += [_edge_note(edge) for edge in edges if edge.kind in ("rekey", "handover")]
    notes += [
        f"{operator.name}: added, it reads {edge.upstream} for what follows directly"
        for operator in operators
        if operator.inserted
        for edge in edges
        if edge.target == operator.name
    ]
    read = {edge.stream for edge in edges}
    for operator in operators:
        for route, _ in operator.outputs:
            if route is not None and f"{operator.name}.{route}" not in read:
                notes.append(f"{operator.name}.{route}: nothing reads this route, its records are dropped")
    first: dict[str, str] = {}
    for operator in operators:
        twin = first.setdefault(operator.identity, operator.name)
        if twin != operator.name:
            notes.append(f"{operator.name}: computes the same as {twin}; read that one twice to save work")
    return tuple(notes)


def _edge_note(edge: Edge) -> str:
    ends = f"{edge.stream} -> {edge.target}"
    if edge.rekey is None:
        return f"{ends}: through a topic, since {edge.target} also reads what was re-keyed on another way"
    by = f"by {', '.join(edge.rekey.by)} " if edge.rekey.by else ""
    return f"{ends}: re-keyed {by}into {partition_count(edge.rekey.partitions)}, because {edge.rekey.reason}"
