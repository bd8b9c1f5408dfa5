"""Map: add or replace the fields of `set`, remove those of `drop`, keep the rest.

Every expression reads the record as it came in, so the order of `set` does not matter and one new field cannot read
another. A field that is both set and dropped is there with its new value. Key, time and order stay as they are. With
neither (the compiler puts such a map between a source and a re-key) records pass as they are.
"""

from services.operators.batch import Batch
from services.operators.operator import Operator
from topics.expressions import compile_update
from topics.flow import specs


class Map(Operator):
    """One generated comprehension for a batch."""

    def __init__(self, spec: specs.Map) -> None:
        self._update = compile_update(spec.set, spec.drop) if spec.set or spec.drop else None

    def process(self, batch: Batch, port: int) -> Batch:
        if self._update is None or not batch.values:
            return batch
        return batch.with_values(self._update(batch.values))
