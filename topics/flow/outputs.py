"""How an operator's output is partitioned and windowed, from how its (re-keyed) inputs are."""

from collections.abc import Sequence

from topics.expressions import Expression
from topics.flow.partitioning import Partitioning, copied, merged
from topics.flow.read_operators import WINDOW_FIELDS
from topics.flow.specs import (
    Aggregate,
    FlatMap,
    Join,
    Map,
    OperatorSpec,
    Project,
    Python,
    TopK,
    Union,
    Window,
)


def output_partitioning(spec: OperatorSpec, inputs: Sequence[Partitioning]) -> Partitioning:  # noqa: PLR0911 - a table
    """No operator moves a record to another partition; the question is which fields still carry the key."""
    first = inputs[0]
    match spec:
        case Project():
            return first.carried(_copies(spec.fields))
        case Map():
            return first.replaced([name for name, _ in spec.set] + [*spec.drop], _copies(spec.set))
        case FlatMap():
            return first.replaced([spec.into], {})
        case Union():
            return merged(tuple(inputs))
        case Aggregate():
            return first.only(spec.by)
        case Join():
            return _joined(spec, *inputs)
        case TopK():
            return first.replaced(["rank", *(WINDOW_FIELDS if spec.window else ())], {})
        case Python():
            return first.lost()
    return first


def output_window(spec: OperatorSpec, inputs: Sequence[Window | None]) -> Window | None:
    """The window whose results the output has: that of an aggregate or top_k, kept by what changes single records."""
    match spec:
        case Aggregate() | TopK():
            return spec.window or (inputs[0] if isinstance(spec, TopK) else None)
        case Join():
            return None
        case Union():
            return inputs[0] if all(window == inputs[0] for window in inputs) else None
    return inputs[0]


def _joined(spec: Join, left: Partitioning, right: Partitioning) -> Partitioning:
    """A field of one side carries the key only if its rows always have that side."""
    copies = _copies(spec.emit) if spec.emit else {"left": "left", "right": "right"}
    fields = []
    for left_names, right_names in zip(left.fields or (), right.fields or (), strict=False):
        sided = {f"left.{name}" for name in left_names} if spec.kind != "outer" else set()
        sided |= {f"right.{name}" for name in right_names} if spec.kind == "inner" else set()
        # Without `emit` rows have the `on` fields themselves; in a row without a left side they are the right one's.
        own = {a for a, b in spec.on if a in left_names and (b in right_names or spec.kind != "outer")}
        fields.append(copied(sided, copies) | (set() if spec.emit else own))
    return left.with_fields(fields)


def _copies(named: Sequence[tuple[str, Expression]]) -> dict[str, str]:
    """Which field each one copies. One with a dot in its own name is no key, though it looks like a nested one."""
    paths = {name: value.path for name, value in named}
    return {name: ".".join(path) for name, path in paths.items() if path and not any("." in part for part in path)}
