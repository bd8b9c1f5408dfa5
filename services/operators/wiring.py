"""Wiring: the program for a whole compiled flow, or for one of its segments.

The whole flow is one program on one partition, which `flow run` and tests use. A segment's program is what a host runs,
one for each partition; its inputs are named by `input_name`, its outputs are the streams that leave it.
"""

from collections.abc import Callable, Sequence

from services.operators.calls import Caller
from services.operators.factory import streams_read
from services.operators.program import Probe, Program
from topics.flow import specs
from topics.flow.graph import Edge, FlowGraph, Segment


def flow_program(graph: FlowGraph, *, allow: Sequence[str] = (), probe: Probe | None = None) -> Program:
    """All operators of a flow: from its sources' names to the streams that its sinks read."""
    return Program(
        {operator.name: operator.spec for operator in graph.operators},
        inputs=[source.name for source in graph.spec.sources],
        outputs=sorted({sink.input for sink in graph.spec.sinks}),
        allow=allow,
        probe=probe,
    )


def segment_program(
    graph: FlowGraph,
    segment: Segment,
    *,
    allow: Sequence[str] = (),
    caller: Callable[[specs.Python], Caller] | None = None,
    probe: Probe | None = None,
) -> Program:
    """The operators of one segment."""
    operators = {operator.name: operator.spec for operator in graph.operators if operator.name in segment.operators}
    feeds = {name: list(streams_read(spec)) for name, spec in operators.items()}
    for edge in segment.inputs:
        feeds[edge.target][edge.port_number] = input_name(edge)
    return Program(
        operators,
        inputs=sorted({input_name(edge) for edge in segment.inputs}),
        outputs=sorted({edge.stream for edge in segment.outputs}),
        feeds=feeds,
        allow=allow,
        caller=caller,
        probe=probe,
    )


def input_name(edge: Edge) -> str:
    """What a segment's program calls an input: the source, or for an edge topic its stream and the port it feeds."""
    return edge.stream if edge.kind == "source" else f"{edge.stream}>{edge.target}.{edge.port}"
