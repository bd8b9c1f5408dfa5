"""Filter: keep the records for which `where` is true.

Only true keeps a record: false, null (a missing field, a wrong type) and any other value drop it. Key, time and order
stay as they are.
"""

from services.operators.batch import Batch
from services.operators.operator import Operator
from topics.expressions import compile_mask
from topics.flow import specs


class Filter(Operator):
    """One mask for a batch."""

    def __init__(self, spec: specs.Filter) -> None:
        self._where = compile_mask(spec.where)

    def process(self, batch: Batch, port: int) -> Batch:
        return batch.select(self._where(batch.values)) if batch.values else batch
