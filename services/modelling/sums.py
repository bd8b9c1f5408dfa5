"""The sums that Spark makes of metrics, and their order: the one agreement between the SQL and the ring.

A row of sums is one seat in one second. A seat is an operator on a host (its partitions added), a host, or a link.
"""

from typing import Literal

Kind = Literal["operator", "link", "host", "rejected"]

OPERATOR = (
    "rows",
    "arrivals",
    "outputs",
    "gaps",
    "gaps_sq",
    "served",
    "service_us",
    "service_us_sq",
    "waited",
    "wait_us",
    "bytes_in",
    "bytes_out",
    "lag",
    "state_bytes",
    "timed",
    "latency_ms",
    "astray",
)
"""`gaps_sq`: squares of the times between arrivals, each partition's in units of its own mean: partitions of unequal
rates can then be added, and what comes out is the mean of their variations by rate (Whitt's asymptotic method).
`astray`: rows whose second was too far from the broker's time.
Bytes, lag and waits are a task's: every operator of a segment repeats them. State is an operator's own.
"""

LINK = ("rows", "sent", "lost", "answers", "round_trip_ms", "round_trip_ms_sq", "fastest_ms", "astray")
HOST = ("rows", "cpu", "memory_bytes", "capacity", "loop_delays", "loop_delay_ms", "clock_offset_ms", "astray")

COLUMNS: dict[str, tuple[str, ...]] = {"operator": OPERATOR, "link": LINK, "host": HOST}
GAUGES: dict[str, tuple[str, ...]] = {
    "operator": ("lag", "state_bytes"),
    "host": ("cpu", "memory_bytes", "capacity", "clock_offset_ms"),
}
"""What is a state, not a count: of several rows of a partition in one second the largest stands; partitions add up."""
WIDTH = max(len(names) for names in COLUMNS.values())
SEPARATOR = "\x1f"
"""Between the names of a seat; no name may hold it."""


def place(kind: str, name: str) -> int:
    """Where a sum stands."""
    return COLUMNS[kind].index(name)
