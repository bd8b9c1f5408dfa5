"""Whether a flow can go on as a revision wants it, or would work through its history twice. Pure."""

from services.registry.errors import RegistryError
from topics.flow.graph import FlowGraph, Segment


def check_no_history_twice(before: FlowGraph, after: FlowGraph) -> None:
    """Raises RegistryError if a segment that stays as it is would get from a new one all that it had already.

    A segment that is new reads its sources from their beginning. So one that reads it must be new as well: going on
    where it stands, with what it remembers, it would count everything a second time.
    """
    known = {segment.id for segment in before.segments}
    for segment in after.segments:
        if segment.id in known:
            for writer in _writers(after, segment):
                if writer.id not in known:
                    reader, anew = ", ".join(segment.operators), ", ".join(writer.operators)
                    raise RegistryError(
                        f"{anew} would begin anew and send all records once more to {reader}, which has them already",
                        f"submit it under another name, or give {reader} another name: then it begins anew, too",
                    )


def _writers(graph: FlowGraph, segment: Segment) -> list[Segment]:
    """The segments whose edges it reads."""
    upstream = {edge.upstream for edge in segment.inputs if edge.kind != "source"}
    return [each for each in graph.segments if upstream & set(each.operators)]
