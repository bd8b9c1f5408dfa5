"""Map: add or replace the fields of `set`, remove those of `drop`, keep the rest.

Every expression reads the record as it came in, so the order of `set` does not matter and one new field cannot read
another; `drop` goes first, so a field in both is there with its new value. Key, time and order stay as they are.
"""

from operator import or_

from services.operators.batch import Batch, Value
from services.operators.operator import Operator
from topics.expressions import compile_object
from topics.flow import specs


class Map(Operator):
    """New fields by one generated comprehension, joined to the old ones by a dictionary union."""

    def __init__(self, spec: specs.Map) -> None:
        self._set = compile_object(spec.set) if spec.set else None
        self._drop = spec.drop

    def process(self, batch: Batch, port: int) -> Batch:
        if not batch.values:
            return batch
        kept = self._without_dropped(batch.values) if self._drop else batch.values
        if self._set is None:
            return batch.with_values(kept)
        return batch.with_values(list(map(or_, kept, self._set(batch.values))))

    def _without_dropped(self, values: list[Value]) -> list[Value]:
        copies = list(map(dict.copy, values))
        for name in self._drop:
            for copy in copies:
                copy.pop(name, None)
        return copies
