"""Factory: from the spec of an operator to the operator."""

from collections.abc import Callable
from typing import Any

from services.operators.aggregate import Aggregate
from services.operators.calls import Caller
from services.operators.dedupe import Dedupe
from services.operators.failure import Failure
from services.operators.filter import Filter
from services.operators.flat_map import FlatMap
from services.operators.join import Join
from services.operators.map import Map
from services.operators.operator import Operator
from services.operators.project import Project
from services.operators.python import Python
from services.operators.split import Split
from services.operators.top_k import TopK
from services.operators.union import Union
from topics.flow import specs
from topics.flow.references import inputs_of, routes_of

_MAKERS: dict[type, Callable[[Any], Operator]] = {
    specs.Filter: Filter,
    specs.Map: Map,
    specs.FlatMap: FlatMap,
    specs.Split: Split,
    specs.Union: Union,
    specs.Dedupe: Dedupe,
    specs.Aggregate: Aggregate,
    specs.Join: Join,
    specs.TopK: TopK,
}


def make(
    name: str,
    spec: specs.OperatorSpec,
    *,
    failures: list[Failure],
    caller: Callable[[specs.Python], Caller],
    needless: bool = False,
) -> Operator:
    """A fresh operator. `caller` makes what calls the function of a python operator, `failures` takes what it gives up.

    `needless` is for a projection that need not be carried out (`pruning.py`).
    """
    if isinstance(spec, specs.Project):
        return Project(spec, needless=needless)
    if isinstance(spec, specs.Python):
        return Python(name, spec, caller(spec), failures=failures)
    return _MAKERS[type(spec)](spec)


def streams_read(spec: specs.OperatorSpec) -> tuple[str, ...]:
    """The streams that an operator reads, by port."""
    return tuple(stream for _, stream in inputs_of(spec))


def streams_made(name: str, spec: specs.OperatorSpec) -> tuple[str, ...]:
    """The streams that an operator makes: one of its own name, or one for each route of a split."""
    if isinstance(spec, specs.Split):
        return tuple(f"{name}.{route}" for route in routes_of(spec))
    return (name,)
