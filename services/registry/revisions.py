"""Whether a flow can go on as a revision wants it, or would work through its history twice. Pure."""

from services.registry.errors import RegistryError
from topics.flow import specs
from topics.flow.graph import FlowGraph, Segment

_WITH_STATE = (specs.Aggregate, specs.Dedupe, specs.Join, specs.TopK)


def check_no_history_twice(before: FlowGraph, after: FlowGraph) -> None:
    """Raises RegistryError if something that goes on with what it remembers would get all of it once more.

    A segment that is new reads its sources from their beginning. So one that reads it must be new as well. And so must
    be all its operators with state: state is kept by operator, also when these are put together in another way.
    """
    known = {segment.id for segment in before.segments}
    kept = {(each.name, each.identity) for each in before.operators}
    for segment in after.segments:
        if segment.id in known:
            for writer in _writers(after, segment):
                if writer.id not in known:
                    raise _twice(", ".join(writer.operators), ", ".join(segment.operators))
        else:
            for name in segment.operators:
                operator = after.operator(name)
                if (name, operator.identity) in kept and _has_state(operator.spec):
                    raise _twice(f"the segment of {', '.join(segment.operators)}", name)


def _twice(anew: str, reader: str) -> RegistryError:
    return RegistryError(
        f"{anew} would begin anew and send all records once more to {reader}, which has them already",
        f"submit it under another name, or give {reader} another name: then it begins anew, too",
    )


def _has_state(spec: object) -> bool:
    return isinstance(spec, _WITH_STATE) or (isinstance(spec, specs.Python) and spec.state)


def _writers(graph: FlowGraph, segment: Segment) -> list[Segment]:
    """The segments whose edges it reads."""
    upstream = {edge.upstream for edge in segment.inputs if edge.kind != "source"}
    return [each for each in graph.segments if upstream & set(each.operators)]
