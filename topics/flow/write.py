"""From specs back to a flow file: what is not the default, in the order that people read it."""

import re
from typing import TypeVar, cast

import yaml

from topics.expressions import Expression
from topics.flow.describe import op_of
from topics.flow.document import PLAIN_KINDS, Value
from topics.flow.durations import format_duration
from topics.flow.specs import (
    CALL_TIMEOUT_MS,
    PARK_AFTER,
    PAUSE_BUDGET_MS,
    Aggregate,
    Aggregation,
    Dedupe,
    Filter,
    FlatMap,
    FlowSpec,
    Join,
    Map,
    OperatorSpec,
    Project,
    Python,
    Qos,
    Sink,
    Source,
    Split,
    TopK,
    Union,
    Window,
)

LINE_WIDTH = 10_000
"""No expression is broken over lines: so a problem in it can be shown at its column."""

T = TypeVar("T")


def to_yaml(spec: FlowSpec) -> str:
    """A file that `topics.flow.file` reads back to an equal spec."""
    return yaml.dump(
        flow_values(spec),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=LINE_WIDTH,
    )


def flow_values(spec: FlowSpec) -> dict[str, Value]:
    """The plain values of the file."""
    head = {
        "flow": spec.name,
        "qos": _qos(spec.qos),
        "delivery": _unless(spec.delivery, "at_least_once"),
        "park_after": _unless(spec.park_after, PARK_AFTER),
        "moves": _unless(spec.moves, "auto"),
        "pause_budget": _duration(_unless(spec.pause_budget_ms, PAUSE_BUDGET_MS)),
        "state": _unless(spec.state, "memory"),
    }
    parts: dict[str, Value] = {
        "sources": {source.name: _source(source) for source in spec.sources},
        "operators": {name: _operator(operator) for name, operator in spec.operators},
        "sinks": {sink.name: _sink(sink) for sink in spec.sinks},
    }
    return {**_given(head), **parts}


def _qos(qos: Qos) -> Value:
    latency_ms, weight = _number(qos.latency_ms), _number(_unless(qos.weight, 1.0))
    return _given({"latency_ms": latency_ms, "weight": weight, "availability": qos.availability}) or None


def _source(source: Source) -> Value:
    default = Source(name="", topic="")
    return _given(
        {
            "topic": source.topic,
            "at": source.at,
            "key": source.key,
            "event_time": source.event_time,
            "time_unit": _unless(source.time_unit, default.time_unit),
            "lateness": _duration(_unless(source.lateness_ms, default.lateness_ms)),
            "idle": _duration(_unless(source.idle_ms, default.idle_ms)),
            "codec": _unless(source.codec, default.codec),
            "partitions": source.partitions,
            "schema": cast(Value, dict(source.schema)) or None,
        }
    )


def _sink(sink: Sink) -> Value:
    codec = _unless(sink.codec, "json")
    return _given({"input": sink.input, "topic": sink.topic, "at": sink.at, "key": sink.key, "codec": codec})


def _operator(spec: OperatorSpec) -> Value:
    head: dict[str, Value] = {"python": spec.call} if isinstance(spec, Python) else {"op": op_of(spec)}
    return {**head, **_given(_keys(spec))}


def _keys(spec: OperatorSpec) -> dict[str, Value]:  # noqa: PLR0911 - a table of operators
    match spec:
        case Filter():
            return {"input": spec.input, "where": spec.where.text}
        case Project():
            return {"input": spec.input, "fields": _texts(spec.fields)}
        case Map():
            return {"input": spec.input, "set": _texts(spec.set) or None, "drop": [*spec.drop] or None}
        case FlatMap():
            return {"input": spec.input, "each": spec.each.text, "into": spec.into}
        case Split():
            return {"input": spec.input, "routes": _texts(spec.routes), "otherwise": spec.otherwise}
        case Union():
            return {"inputs": [*spec.inputs]}
        case Dedupe():
            return {"input": spec.input, "by": [*spec.by], "within": _duration(spec.within_ms)}
        case Aggregate():
            emit: dict[str, Value] = {each.name: _aggregation(each) for each in spec.emit}
            return {"input": spec.input, "by": [*spec.by], "window": _window(spec.window), "emit": emit}
        case Join():
            return _join(spec)
        case TopK():
            keys: dict[str, Value] = {"input": spec.input, "k": spec.k, "by": spec.by.text, "per": [*spec.per] or None}
            return {**keys, "order": _unless(spec.order, "desc"), "window": _window(spec.window)}
        case Python():
            flags: dict[str, Value] = {
                "state": spec.state or None,
                "by": [*spec.by] or None,
                "blocking": spec.blocking or None,
                "timeout": None if spec.timeout_ms == CALL_TIMEOUT_MS else _duration(spec.timeout_ms),
            }
            return {"input": spec.input, **flags, "settings": cast(Value, dict(spec.settings)) or None}


def _join(spec: Join) -> dict[str, Value]:
    same = all(left == right for left, right in spec.on)
    on: Value = [left for left, _ in spec.on] if same else cast(Value, dict(spec.on))
    keys: dict[str, Value] = {"left": spec.left, "right": spec.right, "on": on, "within": _duration(spec.within_ms)}
    return {**keys, "kind": _unless(spec.kind, "inner"), "emit": _texts(spec.emit) or None}


def _window(window: Window | None) -> Value:
    if window is None:
        return None
    spans = {"hop": window.hop_ms, "size": window.size_ms, "gap": window.gap_ms}
    return _given({**{key: _duration(span) for key, span in spans.items()}, "emit": _unless(window.emit, "close")})


def _aggregation(aggregation: Aggregation) -> str:
    return f"{aggregation.function}({aggregation.argument.text if aggregation.argument else ''})"


def _texts(named: tuple[tuple[str, Expression], ...]) -> dict[str, Value]:
    return {name: expression.text for name, expression in named}


def _duration(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else format_duration(duration_ms)


def _number(number: float | None) -> float | None:
    return int(number) if number is not None and number.is_integer() else number


def _unless(value: T, default: T) -> T | None:
    return None if value == default else value


def _given(values: dict[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in values.items() if value is not None}


class _Dumper(yaml.SafeDumper):
    """Quotes just what `topics.flow.document` would take for something other than text."""

    yaml_implicit_resolvers: dict[str, list[object]] = {}  # noqa: RUF012 - PyYAML reads it from the class


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # Expressions have single quotes inside; double ones around them save doubling those.
    style = '"' if "'" in text and re.search(r"[^\w\s'=.()<>+*/-]", text) and not re.search(r'["\\]', text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for kind, pattern in PLAIN_KINDS.items():
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern.pattern})\Z"), None)
