"""How far the regions of a running world really are: round trips through its gates, against what was asked for.

A question goes through a gate and its answer comes back: two half round trips, and a fraction of a millisecond of the
broker's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from services.broker_ping import round_trips_ms
from services.embedded.links import Gate, Gates


@dataclass(frozen=True, slots=True)
class MeasuredWay:
    """One gate: what it should take, and the median and the smallest round trip that was seen."""

    gate: Gate
    round_trip_ms: float
    least_ms: float

    @property
    def error_ms(self) -> float:
        """How much longer than it should be."""
        return self.round_trip_ms - 2 * self.gate.delay_ms


def measure_ways(gates: Gates, *, questions: int = 5) -> Iterator[MeasuredWay]:
    """Asks through every gate. Raises OSError if one does not answer."""
    for gate in gates.gates:
        trips_ms = round_trips_ms(gates.host, gate.port, questions=questions)
        yield MeasuredWay(gate, median(trips_ms), min(trips_ms))
