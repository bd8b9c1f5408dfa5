"""What comes out of a micro-batch, as numpy: sums by kind, and what was rejected."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from services.modelling.ring import Array, Indices
from services.modelling.sums import COLUMNS, SEPARATOR
from topics.messages import Origin, RejectedMetrics


@dataclass(frozen=True, slots=True)
class Sums:
    """Rows of one kind: seat, second, one column of `values` for each, and when the last record of it was appended."""

    seats: list[str]
    seconds: Indices
    values: Array
    appended_ms: Indices


@dataclass(frozen=True, slots=True)
class Rows:
    """One micro-batch. `appended_ms`: the latest append time in it; 0 without rows."""

    kinds: dict[str, Sums]
    rejected: tuple[RejectedMetrics, ...]
    appended_ms: int


def rows_of(table: Any) -> Rows:
    """From the Arrow table of `spark_sums.sums_of`."""
    kind = np.asarray(table.column("kind").to_pylist(), dtype=object)
    seat = np.asarray(table.column("seat").to_pylist(), dtype=object)
    second = table.column("second").to_numpy()
    appended_ms = table.column("appended_ms").to_numpy()
    kinds = {}
    for name, columns in COLUMNS.items():
        chosen = np.flatnonzero(kind == name)
        values = np.empty((len(columns), len(chosen)))
        for place in range(len(columns)):
            values[place] = table.column(f"s{place}").to_numpy()[chosen]
        seconds, appended = second[chosen].astype(np.int64), appended_ms[chosen].astype(np.int64)
        kinds[name] = Sums(seat[chosen].tolist(), seconds, values, appended)
    bad = np.flatnonzero(kind == "rejected")
    rejected = tuple(_rejected(table.take(bad).to_pylist())) if len(bad) else ()
    return Rows(kinds, rejected, int(appended_ms.max()) if len(appended_ms) else 0)


def _rejected(rows: list[dict[str, Any]]) -> Iterator[RejectedMetrics]:
    for row in rows:
        topic, partition, _ = row["seat"].split(SEPARATOR)
        yield RejectedMetrics(
            origin=Origin(topic=topic, partition=int(partition), offset=row["bad_offset"]),
            offsets=tuple(sorted(row["offsets"])),
            reason=row["bad_reason"],
            appended_ms=row["appended_ms"],
            value=row["bad_value"],
        )
