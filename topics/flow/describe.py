"""One line for each part of a flow, for drawings: what it does, in the words of the file."""

from collections.abc import Iterable

from topics.flow.durations import format_duration
from topics.flow.specs import (
    Aggregate,
    Dedupe,
    Filter,
    FlatMap,
    Join,
    Map,
    OperatorSpec,
    Project,
    Python,
    Sink,
    Source,
    Split,
    TopK,
    Union,
    Window,
)


def op_of(spec: OperatorSpec) -> str:
    """The word that the file has under `op`."""
    return _OPS[type(spec)]


def describe_source(source: Source) -> str:
    key = f" by {source.key}" if source.key else ""
    return f"topic {source.topic}{key}{_at(source.at)}"


def describe_sink(sink: Sink) -> str:
    return f"topic {sink.topic}{_at(sink.at)}"


def describe_operator(spec: OperatorSpec) -> str:  # noqa: PLR0911 - a table of operators
    match spec:
        case Filter():
            return spec.where.text
        case Project():
            return _names(name for name, _ in spec.fields)
        case Map():
            parts = [f"{name} = {value.text}" for name, value in spec.set] + [f"without {name}" for name in spec.drop]
            return _names(parts) if parts else "every record as it is"
        case FlatMap():
            return f"{spec.into} of {spec.each.text}"
        case Split():
            routes = [f"{name}: {condition.text}" for name, condition in spec.routes]
            return _names([*routes, *([f"{spec.otherwise}: otherwise"] if spec.otherwise else [])])
        case Union():
            return _names(spec.inputs)
        case Dedupe():
            return f"by {_names(spec.by)} within {format_duration(spec.within_ms)}"
        case Aggregate():
            emitted = _names(f"{a.name} = {a.function}({a.argument.text if a.argument else ''})" for a in spec.emit)
            return f"{emitted} by {_names(spec.by)}{_window(spec.window)}"
        case Join():
            on = _names(left if left == right else f"{left} = {right}" for left, right in spec.on)
            return f"{spec.kind}, {spec.left} and {spec.right} on {on} within {format_duration(spec.within_ms)}"
        case TopK():
            per = f" per {_names(spec.per)}" if spec.per else ""
            return f"{spec.k} by {spec.by.text} {spec.order}{per}{_window(spec.window)}"
        case Python():
            return f"{spec.call}{f' with state by {_names(spec.by)}' if spec.state else ''}"


def partition_count(partitions: int) -> str:
    return f"{partitions} partition{'' if partitions == 1 else 's'}"


def _window(window: Window | None) -> str:
    if window is None:
        return ""
    if window.gap_ms is not None:
        text = f"gap {format_duration(window.gap_ms)}"
    else:
        assert window.size_ms is not None, window
        hop = f" every {format_duration(window.hop_ms)}" if window.hop_ms else ""
        text = f"of {format_duration(window.size_ms)}{hop}"
    return f", window {text}{', on every change' if window.emit == 'change' else ''}"


def _at(host: str | None) -> str:
    return f" at {host}" if host else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


_OPS: dict[type[OperatorSpec], str] = {
    Filter: "filter",
    Project: "project",
    Map: "map",
    FlatMap: "flat_map",
    Split: "split",
    Union: "union",
    Dedupe: "dedupe",
    Aggregate: "aggregate",
    Join: "join",
    TopK: "top_k",
    Python: "python",
}
