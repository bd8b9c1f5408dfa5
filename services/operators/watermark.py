"""Watermarks: how far event time has come, so that windows know when nothing more can arrive for them.

A watermark is made at the source, for each partition: the largest event time seen minus the allowed lateness
(`event_time.py`). Where streams meet, the smallest watermark counts:

- `PortWatermarks`, inside an operator with several inputs (union, join): the minimum over its ports;
- `InputWatermarks`, before a program: for each of its inputs the minimum over the upstream partitions that write to it
  (one for a source, several after a re-key), without those that are idle.

A partition from which nothing was heard for `idle_ms`, or that has said that it rests, is idle: it no longer holds the
others back, and counts again as soon as it speaks. An input with only idle partitions follows the slowest input that is
not idle, so that a join does not wait for a silent side; if nothing speaks at all, each input is as far as the farthest
of its partitions had come. What waits to be read has been said: an input of which something waits is as far as it has
come, and not idle. A watermark never goes back, so a record of a partition that was given up may be behind it;
`InputWatermarks.admit` sets such a record aside as late.

All of it lives in tables, save for when a partition was last heard: after a restart each has the full time again.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from services.operators.batch import BEGINNING_MS, Batch
from services.operators.table import Table


class PortWatermarks:
    """The watermark of each port of an operator, in a table, and their minimum."""

    def __init__(self, *, ports: int) -> None:
        self._ports = range(ports)
        self.table = Table()

    def advance(self, port: int, watermark_ms: int) -> int:
        """Note the watermark of one port and return the smallest of all ports."""
        seen = self.table.data
        if watermark_ms > seen.get(port, BEGINNING_MS):
            self.table.put(port, watermark_ms)
        return min([seen.get(each, BEGINNING_MS) for each in self._ports])


@dataclass(frozen=True, slots=True)
class Upstream:
    """Who writes to one input of a program: its partitions, and how long one may be silent.

    `idle_ms` None: as long as it likes. Its silence may be an outage, so it is idle only when it says so.
    """

    partitions: Sequence[int]
    idle_ms: int | None

    def __post_init__(self) -> None:
        assert self.partitions, self
        assert self.idle_ms is None or self.idle_ms > 0, self


class InputWatermarks:
    """The watermark of each input of a program; `now_ms` is the host's clock, passed in."""

    def __init__(self, inputs: Mapping[str, Upstream]) -> None:
        self._inputs = dict(inputs)
        self._heard_ms: dict[tuple[str, int], int] = {}
        self._partitions = Table()
        self._combined = Table()
        self._resting = Table()
        self.tables = {"partitions": self._partitions, "inputs": self._combined, "resting": self._resting}

    def watermark_ms(self, name: str) -> int:
        """What holds for this input; never goes back."""
        return self._combined.data.get(name, BEGINNING_MS)

    def admit(self, name: str, partition: int, batch: Batch, *, now_ms: int) -> tuple[Batch, Batch]:
        """The records that the input's watermark allows, with its new watermark, and the late ones.

        Other inputs may have moved too, when they are idle and follow this one: `moved` tells.
        """
        in_time, late = part_late(batch, self.watermark_ms(name))
        key = (name, partition)
        assert partition in self._inputs[name].partitions, key
        self._heard_ms[key] = now_ms
        self._resting.remove(key)
        if batch.watermark_ms > self._partitions.data.get(key, BEGINNING_MS):
            self._partitions.put(key, batch.watermark_ms)
        self._advance(name, self._slowest_ms(name, now_ms=now_ms))
        return in_time.with_watermark(self.watermark_ms(name)), late

    def rest(self, name: str, partition: int) -> None:
        """A partition says that nothing comes from it for now: it is idle until it speaks; then ask `moved`."""
        self._resting.put((name, partition), True)

    def is_idle(self, *, now_ms: int) -> bool:
        """Whether nothing comes from any partition of any input."""
        return all(
            self._is_idle((name, partition), upstream.idle_ms, now_ms=now_ms)
            for name, upstream in self._inputs.items()
            for partition in upstream.partitions
        )

    def moved(self, *, now_ms: int, unread: Container[str] = ()) -> list[tuple[str, int]]:
        """Let idle partitions go; returns the inputs whose watermark moved by that, for a batch without records.

        `unread`: the inputs of which something waits.
        """
        before = {name: self.watermark_ms(name) for name in self._inputs}
        slowest = {
            name: before[name] if name in unread else self._slowest_ms(name, now_ms=now_ms) for name in self._inputs
        }
        active = [watermark_ms for watermark_ms in slowest.values() if watermark_ms is not None]
        for name, watermark_ms in slowest.items():
            if watermark_ms is None:
                watermark_ms = min(active, default=self._farthest_ms(name))  # noqa: PLW2901 - the gap is filled here
            self._advance(name, watermark_ms)
        return [(name, self.watermark_ms(name)) for name in self._inputs if self.watermark_ms(name) > before[name]]

    def _slowest_ms(self, name: str, *, now_ms: int) -> int | None:
        """The minimum over the partitions of an input that are not idle; None if all are."""
        upstream = self._inputs[name]
        active = [
            self._partitions.data.get((name, partition), BEGINNING_MS)
            for partition in upstream.partitions
            if not self._is_idle((name, partition), upstream.idle_ms, now_ms=now_ms)
        ]
        return min(active, default=None)

    def _farthest_ms(self, name: str) -> int:
        seen = self._partitions.data
        return max(seen.get((name, partition), BEGINNING_MS) for partition in self._inputs[name].partitions)

    def _is_idle(self, key: tuple[str, int], idle_ms: int | None, *, now_ms: int) -> bool:
        silent_ms = now_ms - self._heard_ms.setdefault(key, now_ms)
        return key in self._resting.data or (idle_ms is not None and silent_ms >= idle_ms)

    def _advance(self, name: str, watermark_ms: int | None) -> None:
        if watermark_ms is not None and watermark_ms > self.watermark_ms(name):
            self._combined.put(name, watermark_ms)


def part_late(batch: Batch, watermark_ms: int) -> tuple[Batch, Batch]:
    """The records that a watermark allows, and those behind it."""
    if not batch.times or batch.span_ms[0] >= watermark_ms:
        return batch, Batch.empty(batch.watermark_ms)
    in_time = [time >= watermark_ms for time in batch.times]
    return batch.select(in_time), batch.select([not each for each in in_time])
