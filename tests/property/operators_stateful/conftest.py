"""Streams for the stateful operators: records of several upstream partitions, interleaved, out of order within
lateness, cut into batches anywhere, with restarts from drained tables anywhere. The tests compare with oracles that see
only the list of all records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from services.operators.batch import BEGINNING_MS, END_MS, Batch
from services.operators.operator import Operator
from services.operators.table import entries_of


@dataclass(frozen=True)
class Arrival:
    """One record that was not late, and the watermark of its port after it."""

    port: int
    time: int
    value: dict[str, Any]
    watermark_ms: int


@dataclass(frozen=True)
class Stream:
    """Arrivals in order; after each one whether the batch ends there and whether the operator is rebuilt there."""

    arrivals: list[Arrival]
    cuts: list[bool]
    restarts: list[bool]


def stream(entropy: bytes, values: Sequence[dict[str, Any]], *, ports: int = 1) -> Stream:
    """Three bytes make a record: one draw of bytes is much faster than many small draws. The first byte is the setting.

    Each port has one or two upstream partitions. A record is late by its own partition alone, and a port's watermark is
    the smaller one of its partitions, as after a re-key.
    """
    setting = entropy[0] if entropy else 0
    partitions, lateness_ms = 1 + setting % 2, (0, 2, 6, 12)[setting >> 1 & 3]
    newest = {(port, each): BEGINNING_MS for port in range(ports) for each in range(partitions)}
    arrivals, cuts, restarts = [], [], []
    now = 0
    for flags, step, choice in zip(entropy[1::3], entropy[2::3], entropy[3::3], strict=False):
        port, partition = flags % ports, (flags >> 2) % partitions
        now += step >> 5
        time = now + step % 16 - 60  # also before the epoch
        if time < newest[port, partition] - lateness_ms:
            continue
        newest[port, partition] = max(newest[port, partition], time)
        watermark_ms = max(min(newest[port, each] for each in range(partitions)) - lateness_ms, BEGINNING_MS)
        arrivals.append(Arrival(port, time, values[choice % len(values)], watermark_ms))
        cuts.append(bool(flags & 8))
        restarts.append(flags & 48 == 48)
    return Stream(arrivals, cuts, restarts)


def run(
    make: Callable[[], Operator], given: Stream, *, ports: int = 1, forgets: bool = True
) -> list[tuple[dict[str, Any], bytes, int]]:
    """All rows that an operator gives for a stream and its end; checks what every operator owes the next one."""
    operator = make()
    changelog: dict[tuple[str, bytes], bytes | None] = {}
    rows: list[tuple[dict[str, Any], bytes, int]] = []
    promised = BEGINNING_MS
    pending: list[Arrival] = []

    def flush(batch: Batch, port: int) -> None:
        nonlocal promised
        out = operator.process(batch, port)
        assert isinstance(out, Batch)
        assert promised <= out.watermark_ms
        assert all(promised <= time for time in out.times), "a row behind the watermark that was given before"
        promised = out.watermark_ms
        rows.extend(zip(out.values, out.keys, out.times, strict=True))

    for i, arrival in enumerate(given.arrivals):
        pending.append(arrival)
        is_last = i + 1 == len(given.arrivals)
        if is_last or given.cuts[i] or given.arrivals[i + 1].port != arrival.port:
            flush(batch_of(pending), arrival.port)
            pending = []
            if given.restarts[i]:
                operator = rebuilt(operator, make, changelog)
    for port in range(ports):
        flush(Batch.empty(END_MS), port)
    rebuilt(operator, make, changelog)
    for (name, key), value in changelog.items():
        assert not forgets or "watermark" in name or value is None, f"{name} is left with {key!r}: {value!r}"
    return rows


def uncut(given: Stream) -> Stream:
    """The same arrivals in as few batches as can be, without restarts."""
    never = [False] * len(given.arrivals)
    return Stream(given.arrivals, never, never)


def rebuilt(
    operator: Operator, make: Callable[[], Operator], changelog: dict[tuple[str, bytes], bytes | None]
) -> Operator:
    """A fresh operator with the tables that the changelog gives; the changelog is compacted as Kafka does."""
    for name, table in operator.tables.items():
        changelog.update({(name, key): value for key, value in table.drain()})
    fresh = make()
    for (name, key), value in changelog.items():
        fresh.restore(name, entries_of([(key, value)]))
    return fresh


def batch_of(arrivals: Sequence[Arrival]) -> Batch:
    return Batch(
        [each.value for each in arrivals],
        [None] * len(arrivals),
        [each.time for each in arrivals],
        range(len(arrivals)),
        arrivals[-1].watermark_ms,
    )


@pytest.fixture(scope="session")
def streams() -> SimpleNamespace:
    """`stream` makes one from bytes, `run` gives an operator's rows for it."""
    return SimpleNamespace(stream=stream, run=run, uncut=uncut, batch_of=batch_of)
