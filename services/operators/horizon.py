"""The horizon: how far event time has come for an operator with state, kept in a table because results depend on it.

What lies behind the horizon is decided: windows are closed, partners given up. Sources and edges let no record pass
that is behind the watermark, so an operator meets one only when a record is replayed after a restart that kept the
state. Such a record is left out as a whole: a closed window must not open again and be emitted a second time.
"""

from services.operators.batch import BEGINNING_MS, Batch
from services.operators.watermark import PortWatermarks, part_late


class Horizon(PortWatermarks):
    """The watermark of each port that the operator has acted on; the smallest of them is the horizon."""

    def __init__(self, *, ports: int = 1) -> None:
        super().__init__(ports=ports)

    @property
    def watermark_ms(self) -> int:
        """How far all ports have come."""
        return self.advance(0, BEGINNING_MS)

    def admit(self, batch: Batch) -> Batch:
        """The records of the batch that are not behind the horizon."""
        in_time, _ = part_late(batch, self.watermark_ms)
        return in_time
