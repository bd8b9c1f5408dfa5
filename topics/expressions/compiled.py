"""From expressions to Python functions over a batch of records: one comprehension for the batch, no call for a record.

The functions are pure: same records in, same list out, whatever came before. They never raise on JSON-like records.
All records of a batch are objects or all have slots; only an update wants objects.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from topics.expressions.assembly import batch_function, careful_batch_function, record_function
from topics.expressions.emitter import RECORD, Emitter, name_of
from topics.expressions.expression import Expression
from topics.expressions.fallback import BatchFunction, Record, with_fallback
from topics.expressions.fast import FastEmitter
from topics.expressions.functions import FAULTS
from topics.expressions.safe import SafeEmitter

NamedExpressions = Sequence[tuple[str, Expression]]


def compile_column(expression: Expression) -> Callable[[Sequence[Record]], list[Any]]:
    """The expression's value for each record."""
    return _all_forms(lambda emitter: emitter.leaving(expression.tree))


def compile_mask(expression: Expression) -> Callable[[Sequence[Record]], list[bool]]:
    """For each record whether the expression is true; null and other values count as not true."""
    return _all_forms(lambda emitter: emitter.truth(expression.tree))


def compile_object(fields: NamedExpressions) -> Callable[[Sequence[Record]], list[Record]]:
    """For each record a new one with these fields and no others."""
    return _all_forms(lambda emitter: _object(emitter, fields))


def compile_update(fields: NamedExpressions, drop: Sequence[str] = ()) -> Callable[[Sequence[Record]], list[Record]]:
    """For each record a new one with these fields added or replaced, and those in `drop` left out unless set."""
    updated = _all_forms(lambda emitter: _object(emitter, fields, based_on_record=True))
    unwanted = sorted(set(drop) - {name for name, _ in fields})
    if not unwanted:
        return updated

    def update(records: Sequence[Record]) -> list[Record]:
        results = updated(records)
        for result in results:
            for name in unwanted:
                result.pop(name, None)
        return results

    return update


def compile_tuples(expressions: Sequence[Expression]) -> Callable[[Sequence[Record]], list[tuple[Any, ...]]]:
    """For each record a tuple of the expressions' values."""
    return _all_forms(
        lambda emitter: ast.Tuple([emitter.leaving(expression.tree) for expression in expressions], ast.Load())
    )


def compile_record(expression: Expression) -> Callable[[Record], Any]:
    """The expression's value for one record."""
    fast = record_function(FastEmitter().leaving(expression.tree))
    safe = record_function(SafeEmitter().leaving(expression.tree))

    def value(record: Record) -> Any:
        try:
            return fast(record)
        except FAULTS:
            return safe(record)

    return value


def _object(emitter: Emitter, fields: NamedExpressions, *, based_on_record: bool = False) -> ast.expr:
    keys: list[ast.expr | None] = [ast.Constant(name) for name, _ in fields]
    values = [emitter.leaving(expression.tree) for _, expression in fields]
    if based_on_record:  # {**record, ...}
        keys.insert(0, None)
        values.insert(0, name_of(RECORD))
    return ast.Dict(keys, values)


def _all_forms(element: Callable[[Emitter], ast.expr]) -> BatchFunction:
    """For whichever records a batch has; the forms for slots are made when the first of these come."""
    of_objects, of_slots = _forms(element, of_slots=False), None

    def batch(records: Sequence[Record]) -> list[Any]:
        nonlocal of_slots
        if not records or isinstance(records[0], dict):
            return of_objects(records)
        if of_slots is None:
            of_slots = _forms(element, of_slots=True)
        return of_slots(records)

    return batch


def _forms(element: Callable[[Emitter], ast.expr], *, of_slots: bool) -> BatchFunction:
    fast, safe = FastEmitter(of_slots=of_slots), SafeEmitter(of_slots=of_slots)
    return with_fallback(
        batch_function(element(fast)),
        careful_batch_function(element(fast), element(safe)),
        batch_function(element(safe)),
    )
