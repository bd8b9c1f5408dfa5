"""Project: the output has the fields that `fields` names and no others, each computed from the input record.

A field whose expression has no value (a missing field, a wrong type) is there and null, so every output has the same
fields. Key, time and order stay as they are.
"""

from services.operators.batch import Batch
from services.operators.operator import Operator
from topics.expressions import compile_object
from topics.flow import specs


class Project(Operator):
    """One generated comprehension for a batch; if `needless` (`pruning.py`) records pass as they are."""

    def __init__(self, spec: specs.Project, *, needless: bool = False) -> None:
        self._fields = None if needless else compile_object(spec.fields)

    def process(self, batch: Batch, port: int) -> Batch:
        if self._fields is None or not batch.values:
            return batch
        return batch.with_values(self._fields(batch.values))
