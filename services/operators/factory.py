"""Factory: from the spec of an operator to the operator."""

from collections.abc import Sequence

from services.operators.aggregate import Aggregate
from services.operators.dedupe import Dedupe
from services.operators.failure import Failure
from services.operators.filter import Filter
from services.operators.flat_map import FlatMap
from services.operators.join import Join
from services.operators.map import Map
from services.operators.operator import Operator
from services.operators.project import Project
from services.operators.python import Python
from services.operators.split import Split, route_names
from services.operators.top_k import TopK
from services.operators.union import Union
from topics.flow import specs


def make(name: str, spec: specs.OperatorSpec, *, allow: Sequence[str] = (), failures: list[Failure]) -> Operator:
    """A fresh operator. `allow` says which modules python operators may load, `failures` takes what they give up."""
    match spec:
        case specs.Filter():
            return Filter(spec)
        case specs.Project():
            return Project(spec)
        case specs.Map():
            return Map(spec)
        case specs.FlatMap():
            return FlatMap(spec)
        case specs.Split():
            return Split(spec)
        case specs.Union():
            return Union(spec)
        case specs.Dedupe():
            return Dedupe(spec)
        case specs.Aggregate():
            return Aggregate(spec)
        case specs.Join():
            return Join(spec)
        case specs.TopK():
            return TopK(spec)
        case specs.Python():
            return Python(name, spec, allow=allow, failures=failures)


def inputs_of(spec: specs.OperatorSpec) -> tuple[str, ...]:
    """The streams that an operator reads, by port."""
    match spec:
        case specs.Union():
            return spec.inputs
        case specs.Join():
            return (spec.left, spec.right)
        case _:
            return (spec.input,)


def outputs_of(name: str, spec: specs.OperatorSpec) -> tuple[str, ...]:
    """The streams that an operator makes: one of its own name, or one for each route of a split."""
    if isinstance(spec, specs.Split):
        return tuple(f"{name}.{route}" for route in route_names(spec))
    return (name,)
