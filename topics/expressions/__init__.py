"""Expressions: the small language of `where`, `set`, `fields` and `emit` in a flow.

`parse` turns text into a checked `Expression` (or an `ExpressionError` with every problem and its column); the
`compile_*` functions turn expressions into Python functions over batches of records. The way through: tokens, parser
(tree), checker (kinds, schema, functions), canonical; then emitter with its fast and safe form, assembly, fallback,
compiled. What the language means and why is told in docs/decisions/0060 to 0062.
"""

from topics.expressions.compiled import (
    compile_column,
    compile_mask,
    compile_object,
    compile_record,
    compile_tuples,
    compile_update,
)
from topics.expressions.errors import ExpressionError, Problem, nearest_word
from topics.expressions.expression import AGGREGATE_FUNCTIONS, AggregateFunction, Expression, parse, parse_aggregation
from topics.expressions.kinds import FieldType, Schema

__all__ = [
    "AGGREGATE_FUNCTIONS",
    "AggregateFunction",
    "Expression",
    "ExpressionError",
    "FieldType",
    "Problem",
    "Schema",
    "compile_column",
    "compile_mask",
    "compile_object",
    "compile_record",
    "compile_tuples",
    "compile_update",
    "nearest_word",
    "parse",
    "parse_aggregation",
]
