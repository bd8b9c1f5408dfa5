"""FlatMap: one output for each element of the list `each`.

The output is the input record with the element in the field `into`; key and time are those of the input, and elements
keep their order. An empty list, null or anything else that is not a list gives no output.
"""

from itertools import chain, repeat

from services.operators.batch import Batch
from services.operators.operator import Operator
from topics.expressions import compile_column
from topics.flow import specs


class FlatMap(Operator):
    """Columns repeated as often as each list is long."""

    slice_records = 1_000

    def __init__(self, spec: specs.FlatMap) -> None:
        self._each = compile_column(spec.each)
        self._into = spec.into

    def process(self, batch: Batch, port: int) -> Batch:
        if not batch.values:
            return batch
        into = self._into
        lists = [each if type(each) is list else () for each in self._each(batch.values)]
        positions = list(chain.from_iterable(map(repeat, range(len(lists)), map(len, lists))))
        repeated = batch.take(positions)
        elements = chain.from_iterable(lists)
        return repeated.with_values(
            [{**value, into: element} for value, element in zip(repeated.values, elements, strict=True)]
        )
