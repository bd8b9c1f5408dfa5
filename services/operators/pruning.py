"""Pruning: which fields of each stream somebody reads, so that no work is spent on the others.

Decoding is most of the cost of a cheap flow, and building objects for fields that nobody looks at is half of that; so
sources decode only what is read (`fields_read`). A projection whose fields are read by name only, as they came, need
not be carried out at all (`needless_projections`). And a source whose records nobody but filters and projections of a
program look at need not make objects of them at all (`can_have_slots`).

Going backwards from what leaves, every operator tells which fields of its input it needs when its output needs these.
None means all fields: of what a sink writes, a user's function reads, or a join passes on whole. Only top-level names
count.
"""

from collections.abc import Iterable

from services.operators.factory import streams_made, streams_read
from topics.expressions import Expression
from topics.expressions.slots import is_slot
from topics.flow import specs

Fields = frozenset[str] | None

# What top_k without a window of its own reads beside what it names.
_WINDOW_FIELDS = ("window_start", "window_end")


def fields_read(
    sources: Iterable[specs.Source],
    operators: Iterable[tuple[str, specs.OperatorSpec]],
    sinks: Iterable[specs.Sink],
) -> dict[str, Fields]:
    """For each source the fields that the flow reads, None for all. The operators come in topological order."""
    needed = _needed(list(operators), leaving=[sink.input for sink in sinks])
    return {source.name: _both(needed.get(source.name, frozenset()), _own(source)) for source in sources}


def needless_projections(operators: Iterable[tuple[str, specs.OperatorSpec]], *, leaving: Iterable[str]) -> set[str]:
    """The projections whose input serves as well as their output: all that is read of it are fields copied as they are.

    `leaving` are the streams that go out whole. The operators come in topological order.
    """
    ordered = list(operators)
    needed = _needed(ordered, leaving=leaving)
    found = set()
    for name, spec in ordered:
        fields = needed.get(name, frozenset())
        if isinstance(spec, specs.Project) and fields is not None:
            copied = {field for field, expression in spec.fields if field == expression.text and "." not in field}
            if fields <= copied:
                found.add(name)
    return found


def can_have_slots(
    source: str, fields: Fields, operators: Iterable[tuple[str, specs.OperatorSpec]], *, leaving: Iterable[str]
) -> bool:
    """Whether a program reads a source's records by the names of these fields alone, and none of them goes out whole.

    `operators` and `leaving` are those of the program, which may be one of several that read the source.
    """
    ordered, gone = list(operators), set(leaving)
    needless = needless_projections(ordered, leaving=gone)

    def is_read_by_name(stream: str) -> bool:
        return stream not in gone and all(
            isinstance(spec, specs.Filter | specs.Project) and (name not in passing or is_read_by_name(name))
            for name, spec in ordered
            if stream in streams_read(spec)
        )

    passing = {name for name, spec in ordered if isinstance(spec, specs.Filter)} | needless
    return fields is not None and all(map(is_slot, fields)) and is_read_by_name(source)


def _needed(operators: list[tuple[str, specs.OperatorSpec]], *, leaving: Iterable[str]) -> dict[str, Fields]:
    """For each stream the fields that are read of it."""
    needed: dict[str, Fields] = dict.fromkeys(leaving)
    for name, spec in reversed(operators):
        out: Fields = frozenset()
        for stream in streams_made(name, spec):
            out = _both(out, needed.get(stream, frozenset()))
        for port, stream in enumerate(streams_read(spec)):
            needed[stream] = _both(needed.get(stream, frozenset()), _needs(spec, port, out))
    return needed


def _needs(spec: specs.OperatorSpec, port: int, out: Fields) -> Fields:  # noqa: PLR0911 - a table of operators
    match spec:
        case specs.Filter(where=where):
            return _both(out, _expressions([where]))
        case specs.Project(fields=fields):
            return _expressions(expression for _, expression in fields)
        case specs.Map(set=fields):
            return _both(out, _expressions(expression for _, expression in fields))
        case specs.FlatMap(each=each):
            return _both(out, _expressions([each]))
        case specs.Split(routes=routes):
            return _both(out, _expressions(where for _, where in routes))
        case specs.Union():
            return out
        case specs.Dedupe(by=by):
            return _both(out, _tops(by))
        case specs.Aggregate(by=by, emit=emit):
            arguments = [aggregation.argument for aggregation in emit if aggregation.argument is not None]
            return _both(_tops(by), _expressions(arguments))
        case specs.Join():
            return _join_needs(spec, port)
        case specs.TopK(by=by, per=per):
            return _both(out, _expressions([by]) | _tops((*per, *_WINDOW_FIELDS)))
        case specs.Python():
            return None


def _join_needs(spec: specs.Join, port: int) -> Fields:
    side = ("left", "right")[port]
    paths = [path for _, expression in spec.emit for path in expression.paths]
    if not spec.emit or (side,) in paths:
        return None
    return _tops(pair[port] for pair in spec.on) | {path[1] for path in paths if path[0] == side}


def _own(source: specs.Source) -> frozenset[str]:
    return _tops(field for field in (source.event_time, source.key) if field is not None)


def _expressions(expressions: Iterable[Expression]) -> frozenset[str]:
    return frozenset(path[0] for expression in expressions for path in expression.paths)


def _tops(paths: Iterable[str]) -> frozenset[str]:
    """Of dotted names as `by`, `on` and `key` have them, in which a dot always leads into an object."""
    return frozenset(path.partition(".")[0] for path in paths)


def _both(one: Fields, other: Fields) -> Fields:
    return None if one is None or other is None else one | other
