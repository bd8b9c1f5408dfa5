"""A flow in the DOT language of Graphviz, with a box around each segment."""

from topics.flow.describe import describe_operator, describe_sink, describe_source, op_of
from topics.flow.graph import Edge, FlowGraph


def to_dot(graph: FlowGraph) -> str:
    lines = [f"digraph {_quoted(graph.spec.name)} {{", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for source in graph.spec.sources:
        lines.append(f"  {_quoted(source.name)} [shape=cds, label={_label(source.name, describe_source(source))}];")
    for number, segment in enumerate(graph.segments, start=1):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(segment.id)}; style=rounded;"]
        for name in segment.operators:
            spec = graph.operator(name).spec
            lines.append(f"    {_quoted(name)} [label={_label(f'{name}: {op_of(spec)}', describe_operator(spec))}];")
        lines.append("  }")
    for sink in graph.spec.sinks:
        lines.append(f"  {_quoted(sink.name)} [shape=cds, label={_label(sink.name, describe_sink(sink))}];")
    lines += [f"  {_quoted(edge.upstream)} -> {_quoted(edge.target)}{_style(edge)};" for edge in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _style(edge: Edge) -> str:
    labels = [edge.route] if edge.route else []
    if edge.rekey:
        labels.append(f"re-key {', '.join(edge.rekey.by)}" if edge.rekey.by else "re-key to 1 partition")
    label = f"label={_quoted(', '.join(labels))}" if labels else ""
    dashed = "style=dashed" if edge.kind in ("rekey", "handover") else ""
    settings = ", ".join(part for part in (label, dashed) if part)
    return f" [{settings}]" if settings else ""


def _label(name: str, text: str) -> str:
    return _quoted(f"{name}\n{text}")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
