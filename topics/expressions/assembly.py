"""From Python expressions in syntax-tree form to functions. Nothing but our own names is in their reach: no builtins.

The code object is taken from the compiled module and made a function; no text is compiled, and nothing is executed.
"""

import ast
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, cast

from topics.expressions.emitter import NAMESPACE, RECORD, name_of
from topics.expressions.fallback import BatchFunction, CountingBatchFunction, Record

_RECORDS, _RESULTS, _COUNT = "records", "results", "faults"


def record_function(value: ast.expr) -> Callable[[Record], Any]:
    """`value` of one record."""
    return _function(RECORD, [ast.Return(value)])


def batch_function(value: ast.expr) -> BatchFunction:
    """`[value for record in records]`."""
    each = ast.comprehension(ast.Name(RECORD, ast.Store()), name_of(_RECORDS), [], is_async=0)
    return _function(_RECORDS, [ast.Return(ast.ListComp(value, [each]))])


def careful_batch_function(fast: ast.expr, safe: ast.expr) -> CountingBatchFunction:
    """For each record the fast value or, where that fails, the safe one; with the number of failures."""
    one_more = ast.AugAssign(ast.Name(_COUNT, ast.Store()), ast.Add(), ast.Constant(1))
    handler = ast.ExceptHandler(name_of("FAULTS"), None, [one_more, _append(safe)])
    attempt = ast.Try([_append(fast)], [handler], [], [])
    body: list[ast.stmt] = [
        ast.Assign([ast.Name(_RESULTS, ast.Store())], ast.List([], ast.Load())),
        ast.Assign([ast.Name(_COUNT, ast.Store())], ast.Constant(0)),
        ast.For(ast.Name(RECORD, ast.Store()), name_of(_RECORDS), [attempt], []),
        ast.Return(ast.Tuple([name_of(_RESULTS), name_of(_COUNT)], ast.Load())),
    ]
    return _function(_RECORDS, body)


def _append(value: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Attribute(name_of(_RESULTS), "append", ast.Load()), [value], []))


def _function(parameter: str, body: list[ast.stmt]) -> Callable[[Any], Any]:
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(parameter)], kwonlyargs=[], kw_defaults=[], defaults=[])
    definition = ast.FunctionDef("compiled", arguments, body, decorator_list=[])
    module = ast.fix_missing_locations(ast.Module([definition], type_ignores=[]))
    code = compile(module, "<expression>", "exec")
    function_code = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return cast(Callable[[Any], Any], FunctionType(function_code, NAMESPACE))
