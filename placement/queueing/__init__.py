"""The queueing model of the ants paper (section 3.6): streams, additive loads, waits."""

from placement.queueing.load import IDLE, Load, Stream, load_of, wire_stream
from placement.queueing.wait import (
    UTILISATION_CAP,
    aggregate_ca2,
    aggregate_cs2,
    departure_ca2,
    link_wait_ms,
    merge_weight,
    scaled_ca2,
    wait_ms,
)

__all__ = [
    "IDLE",
    "UTILISATION_CAP",
    "Load",
    "Stream",
    "aggregate_ca2",
    "aggregate_cs2",
    "departure_ca2",
    "link_wait_ms",
    "load_of",
    "merge_weight",
    "scaled_ca2",
    "wait_ms",
    "wire_stream",
]
