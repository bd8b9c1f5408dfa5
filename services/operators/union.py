"""Union: all records of all inputs, unchanged.

Records of one input keep their order; between inputs the order is that of arrival, except that records which come from
one input batch by different ways return to the order of their origin (`batch.merge`). The watermark is the smallest of
the inputs' watermarks.
"""

from services.operators.batch import Batch
from services.operators.operator import Operator
from services.operators.watermark import PortWatermarks
from topics.flow import specs


class Union(Operator):
    """Passes batches on; remembers only how far each input has come."""

    def __init__(self, spec: specs.Union) -> None:
        self._watermarks = PortWatermarks(ports=len(spec.inputs))
        self.tables = {"watermarks": self._watermarks.table}

    def process(self, batch: Batch, port: int) -> Batch:
        return batch.with_watermark(self._watermarks.advance(port, batch.watermark_ms))
