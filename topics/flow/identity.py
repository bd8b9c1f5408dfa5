"""Identity: a hash of what an operator computes and of the identities of its inputs.

Two operators with the same identity give the same stream, whatever flow they are in, whatever they are called, and
however their text was laid out. What only says where or how well something runs (`at`, `qos`, partitions, schema,
blocking) is not part of it. Decision 0067 tells what is and what is not.
"""

import hashlib
import json

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
    Source,
    Split,
    TopK,
    Union,
    Window,
)

IDENTITY_VERSION = 1
"""Counts up when the meaning of an operator changes, so that old results are not taken for new ones."""

Canonical = str | int | float | bool | None | list["Canonical"] | dict[str, "Canonical"]


def source_identity(source: Source) -> str:
    """What is read, and how its records get their key and time."""
    return _digest(
        {
            "source": source.topic,
            "codec": source.codec,
            "key": source.key,
            "event_time": source.event_time,
            "time_unit": source.time_unit if source.event_time else None,
            "lateness_ms": source.lateness_ms,
            "idle_ms": source.idle_ms,
        }
    )


def operator_identity(spec: OperatorSpec, inputs: tuple[str, ...]) -> str:
    """`inputs` are the identities of the streams it reads, by port."""
    # A union gives the same records whatever the order of its inputs.
    ordered: list[Canonical] = [*(sorted(inputs) if isinstance(spec, Union) else inputs)]
    return _digest({"inputs": ordered, **_computes(spec)})


def route_identity(split: str, position: int) -> str:
    """The stream of one route of a split. Routes are counted, since their names change nothing."""
    return _digest({"split": split, "route": position})


def _computes(spec: OperatorSpec) -> dict[str, Canonical]:  # noqa: PLR0911 - a table of operators
    match spec:
        case Filter():
            return {"op": "filter", "where": spec.where.text}
        case Project():
            return {"op": "project", "fields": {name: value.text for name, value in spec.fields}}
        case Map():
            return {"op": "map", "set": {name: value.text for name, value in spec.set}, "drop": [*sorted(spec.drop)]}
        case FlatMap():
            return {"op": "flat_map", "each": spec.each.text, "into": spec.into}
        case Split():
            routes: list[Canonical] = [condition.text for _, condition in spec.routes]  # the first that is true wins
            return {"op": "split", "routes": routes, "otherwise": spec.otherwise is not None}
        case Union():
            return {"op": "union"}
        case Dedupe():
            return {"op": "dedupe", "by": [*spec.by], "within_ms": spec.within_ms}
        case Aggregate():
            emit: dict[str, Canonical] = {
                a.name: [a.function, a.argument.text if a.argument else None] for a in spec.emit
            }
            return {"op": "aggregate", "by": [*spec.by], "window": _window(spec.window), "emit": emit}
        case Join():
            return {
                "op": "join",
                "on": [[left, right] for left, right in spec.on],
                "within_ms": spec.within_ms,
                "kind": spec.kind,
                "emit": {name: value.text for name, value in spec.emit},
            }
        case TopK():
            return {
                "op": "top_k",
                "k": spec.k,
                "by": spec.by.text,
                "per": [*spec.per],
                "order": spec.order,
                "window": _window(spec.window),
            }
        case Python():
            settings: dict[str, Canonical] = dict(spec.settings)
            return {"op": "python", "call": spec.call, "state": spec.state, "by": [*spec.by], "settings": settings}


def _window(window: Window | None) -> Canonical:
    if window is None:
        return None
    return {"size_ms": window.size_ms, "hop_ms": window.hop_ms, "gap_ms": window.gap_ms, "emit": window.emit}


def _digest(value: dict[str, Canonical]) -> str:
    text = json.dumps({"version": IDENTITY_VERSION, **value}, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
