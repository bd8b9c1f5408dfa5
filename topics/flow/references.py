"""Who reads whom: every input exists, nothing goes round in a circle, nothing is written for nobody."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from topics.expressions.errors import nearest_word
from topics.flow.problems import Path, Problems, format_path, one_of
from topics.flow.specs import FlowSpec, Join, OperatorSpec, Split, Union


@dataclass(frozen=True, slots=True)
class Reference:
    """An operator or sink reads `stream`: a source, an operator, or a split's route (`sizes.big`)."""

    reader: str
    path: Path
    port: str
    stream: str

    @property
    def upstream(self) -> str:
        return self.stream.partition(".")[0]

    @property
    def route(self) -> str | None:
        return self.stream.partition(".")[2] or None


def inputs_of(spec: OperatorSpec) -> tuple[tuple[Path, str], ...]:
    """Where in the operator each input is named, and the stream; their order is that of the ports."""
    if isinstance(spec, Union):
        return tuple((("inputs", position), stream) for position, stream in enumerate(spec.inputs))
    if isinstance(spec, Join):
        return ((("left",), spec.left), (("right",), spec.right))
    return ((("input",), spec.input),)


def with_input(spec: OperatorSpec, port: str, stream: str) -> OperatorSpec:
    """The same operator reading another stream at this port."""
    if isinstance(spec, Union):
        return Union(tuple(stream if port == f"inputs[{i}]" else old for i, old in enumerate(spec.inputs)))
    return replace(spec, **{port: stream})  # type: ignore[arg-type]


def routes_of(spec: Split) -> tuple[str, ...]:
    """In the order of the file, `otherwise` last."""
    return (*(name for name, _ in spec.routes), *((spec.otherwise,) if spec.otherwise else ()))


def operator_references(name: str, spec: OperatorSpec) -> tuple[Reference, ...]:
    return tuple(
        Reference(name, ("operators", name, *path), format_path(path), stream) for path, stream in inputs_of(spec)
    )


def references_of(spec: FlowSpec) -> Iterator[Reference]:
    for name, operator in spec.operators:
        yield from operator_references(name, operator)
    for sink in spec.sinks:
        yield Reference(sink.name, ("sinks", sink.name, "input"), "input", sink.input)


def check_references(spec: FlowSpec, unread: Mapping[str, tuple[str, ...]], problems: Problems) -> None:
    """`unread` are operators that exist but could not be read, with the inputs they seem to have."""
    operators = [*(name for name, _ in spec.operators), *unread]
    _check_names(spec, operators, problems)
    used = {stream.partition(".")[0] for inputs in unread.values() for stream in inputs}
    for reference in references_of(spec):
        used.add(_resolve(reference, spec, operators, problems))
    _check_cycles(spec, problems)
    # What an unreadable input would have read is not known, so nothing can be called unused.
    readable = "" not in used and all(unread.values()) and all(inputs_of(operator) for _, operator in spec.operators)
    if readable and spec.sinks:
        _check_used(spec, operators, used, problems)
    _check_topics(spec, problems)


def in_order(spec: FlowSpec) -> tuple[tuple[str, OperatorSpec], ...]:
    """The operators so that each comes after its inputs, and otherwise as in the file. There must be no cycle."""
    specs = dict(spec.operators)
    position = {name: index for index, name in enumerate(specs)}
    waiting = {name: set(inputs) for name, inputs in _operator_inputs(spec).items()}
    readers: dict[str, list[str]] = {name: [] for name in specs}
    for name, upstreams in waiting.items():
        for upstream in upstreams:
            readers[upstream].append(name)
    ready = [position[name] for name, upstreams in waiting.items() if not upstreams]
    names = list(specs)
    ordered = []
    heapq.heapify(ready)
    while ready:
        name = names[heapq.heappop(ready)]
        ordered.append((name, specs[name]))
        for reader in readers[name]:
            waiting[reader].remove(name)
            if not waiting[reader]:
                heapq.heappush(ready, position[reader])
    assert len(ordered) == len(specs), "a cycle was not reported"
    return tuple(ordered)


def _check_used(spec: FlowSpec, operators: Iterable[str], used: Set[str], problems: Problems) -> None:
    for name in operators:
        if name not in used:
            problems.add(("operators", name), f"nothing reads {name!r}; add a sink for it, or remove it", at="key")
    for source in spec.sources:
        if source.name not in used:
            problems.add(("sources", source.name), f"nothing reads {source.name!r}; remove it", at="key")


def _check_names(spec: FlowSpec, operators: Iterable[str], problems: Problems) -> None:
    kinds: dict[str, str] = {}
    sections = (
        ("sources", [s.name for s in spec.sources]),
        ("operators", operators),
        ("sinks", [s.name for s in spec.sinks]),
    )
    for section, names in sections:
        for name in names:
            if name in kinds:
                article = "an" if kinds[name] == "operators" else "a"
                message = f"{name!r} is already the name of {article} {kinds[name].removesuffix('s')}; choose another"
                problems.add((section, name), message, at="key")
            kinds.setdefault(name, section)


def _resolve(reference: Reference, spec: FlowSpec, operators: list[str], problems: Problems) -> str:
    """The source or operator that is read, or that was most likely meant. Notes what is wrong with the reference."""
    name, route = reference.upstream, reference.route
    sources = {source.name for source in spec.sources}
    read = dict(spec.operators)
    if name in read:
        operator = read[name]
        if isinstance(operator, Split):
            streams = [f"{name}.{r}" for r in routes_of(operator)]
            if reference.stream not in streams:
                near = nearest_word(reference.stream, streams) if route else None
                message = (
                    f"{name!r} has no route {route!r}" if route else f"{name!r} is a split; read one of its routes"
                )
                problems.add(reference.path, message, expected=one_of(streams), nearest=near)
        elif route:
            problems.add(reference.path, f"{name!r} is not a split and has no route {route!r}", nearest=name)
    elif name in sources:
        if route:
            problems.add(reference.path, f"{name!r} is a source and has no route {route!r}", nearest=name)
    elif name not in operators and reference.stream:
        return _unknown(reference, spec, operators, problems)
    return name


def _unknown(reference: Reference, spec: FlowSpec, operators: list[str], problems: Problems) -> str:
    if reference.upstream in {sink.name for sink in spec.sinks}:
        message = f"{reference.upstream!r} is a sink, and nothing can be read from it"
        problems.add(reference.path, message, expected="the name of a source or operator")
        return reference.upstream
    streams = [source.name for source in spec.sources]
    splits = {name: operator for name, operator in spec.operators if isinstance(operator, Split)}
    streams += [name for name in operators if name not in splits and name != reference.reader]
    streams += [f"{name}.{route}" for name, split in splits.items() for route in routes_of(split)]
    near = nearest_word(reference.stream, streams)
    if not streams:
        return reference.stream  # that nothing could be read has been noted already
    known = one_of(streams) if len(streams) <= 12 else "the name of a source or operator"
    problems.add(reference.path, f"there is no {reference.stream!r} to read", expected=known, nearest=near)
    return (near or reference.stream).partition(".")[0]


def has_cycle(spec: FlowSpec) -> bool:
    return next(_cycles(spec), None) is not None


def _check_cycles(spec: FlowSpec, problems: Problems) -> None:
    specs = dict(spec.operators)
    for cycle in _cycles(spec):
        path = next(r.path for r in operator_references(cycle[0], specs[cycle[0]]) if r.upstream == cycle[-1])
        problems.add(path, f"the flow goes round in a circle: {' -> '.join([*cycle, cycle[0]])}")


def _cycles(spec: FlowSpec) -> Iterator[list[str]]:
    """Each from its first operator in the file, in the direction of the records; every circle has one of them cut."""
    names = [name for name, _ in spec.operators]
    inputs = _operator_inputs(spec)
    while True:
        try:
            TopologicalSorter(inputs).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1][:-1]
            start = cycle.index(min(cycle, key=names.index))
            cycle = cycle[start:] + cycle[:start]
            inputs[cycle[0]] = [name for name in inputs[cycle[0]] if name != cycle[-1]]
            yield cycle
        else:
            return


def _operator_inputs(spec: FlowSpec) -> dict[str, list[str]]:
    """For each operator those that it reads. A source that shares its name with an operator goes before it."""
    names = {name for name, _ in spec.operators} - {source.name for source in spec.sources}
    return {n: [r.upstream for r in operator_references(n, o) if r.upstream in names] for n, o in spec.operators}


def _check_topics(spec: FlowSpec, problems: Problems) -> None:
    sources: dict[str, str] = {}
    for source in spec.sources:
        if source.topic and source.topic in sources:
            message = (
                f"topic {source.topic!r} is already read by the source {sources[source.topic]!r}; read that one twice"
            )
            problems.add(("sources", source.name, "topic"), message)
        sources.setdefault(source.topic, source.name)
    sinks: dict[str, str] = {}
    for sink in spec.sinks:
        path = ("sinks", sink.name, "topic")
        if sink.topic and sink.topic in sources:
            message = (
                f"topic {sink.topic!r} is what the source {sources[sink.topic]!r} reads; the flow would feed itself"
            )
            problems.add(path, message, expected="another topic")
        elif sink.topic and sink.topic in sinks:
            message = (
                f"topic {sink.topic!r} is already written by the sink {sinks[sink.topic]!r}; join the two with a union"
            )
            problems.add(path, message)
        sinks.setdefault(sink.topic, sink.name)
