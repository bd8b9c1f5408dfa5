"""Join: pairs of a left and a right record with equal `on` fields and event times at most `within` apart.

A pair is given out when its later partner arrives, with the larger of both event times. Null equals nothing here: a
record with a null in `on` has no partner. `kind: left` also gives out each left record that found no partner, `outer`
each left and each right one, with null for the other side, when the watermark shows that none can come: when it is
later than the record's time plus `within`. Such a row has the record's own event time, and therefore the watermark
after a left or outer join is `within` behind the one before it.

A row has the fields of `emit`, computed from an object with the fields `left` and `right`; without `emit`, the `on`
fields under their left names, `left` and `right`. Its key is the `on` values. Pairs come in the order of the arriving
records, the partners of one record by event time, then arrival; rows without a partner by event time, then key, then
arrival.

The watermark is the smaller one of both inputs. Both must be co-partitioned by `on`, which is the compiler's care.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from services.operators.batch import BEGINNING_MS, Batch, Value
from services.operators.due import Due
from services.operators.fold import Group
from services.operators.horizon import Horizon
from services.operators.keys import group_reader
from services.operators.operator import Operator
from services.operators.rows import Rows, group_key
from services.operators.table import Entries, encode_key
from services.operators.waiting import Waiting
from topics.expressions import compile_object
from topics.flow import specs

_LEFT, _RIGHT = 0, 1

# A row to be: group, event time, left record, right record (one of them may be null).
Match = tuple[Group, int, Value | None, Value | None]


class Join(Operator):
    """Tables `left` and `right`: the waiting records. Derived: `_due`, when each is given up, and `_next_number`."""

    slice_records = 50  # few: nothing in the records themselves warns of a key for which thousands wait

    def __init__(self, spec: specs.Join) -> None:
        self._within_ms = spec.within_ms
        self._groups_of = (group_reader([left for left, _ in spec.on]), group_reader([right for _, right in spec.on]))
        self._gives_unmatched = (spec.kind in ("left", "outer"), spec.kind == "outer")
        self._holds_back_ms = 0 if spec.kind == "inner" else spec.within_ms
        self._on = Rows([left for left, _ in spec.on])
        self._emit = compile_object(spec.emit) if spec.emit else None
        self._horizon = Horizon(ports=2)
        self._waiting = (Waiting(), Waiting())
        self._due = Due()
        self._next_number = 0
        self.tables = {
            "left": self._waiting[_LEFT].table,
            "right": self._waiting[_RIGHT].table,
            "watermarks": self._horizon.table,
        }

    def restore(self, name: str, entries: Entries) -> None:
        if name == "watermarks":
            super().restore(name, entries)
        else:
            port = _LEFT if name == "left" else _RIGHT
            for key in self._waiting[port].restore(entries):
                _, time, number = key
                self._due.add(self._given_up_ms(time), (port, key))
                self._next_number = max(self._next_number, number + 1)
        self._due.drop(self._horizon.watermark_ms)

    def forget(self) -> Iterator[None]:
        yield from super().forget()
        for waiting in self._waiting:
            yield from waiting.forget()
        yield from self._due.forget()
        self._next_number = 0

    def process(self, batch: Batch, port: int) -> Batch:
        matches = list(self._match(self._horizon.admit(batch), port))
        horizon_ms = self._horizon.advance(port, batch.watermark_ms)
        matches += self._give_up(horizon_ms)
        return Batch.derived(
            self._values(matches),
            [group_key(group) for group, *_ in matches],
            [time for _, time, _, _ in matches],
            max(horizon_ms - self._holds_back_ms, BEGINNING_MS),
        )

    def _match(self, batch: Batch, port: int) -> Iterator[Match]:
        """The pairs that the records of a batch make with those that wait on the other side; then they wait too."""
        own, other = self._waiting[port], self._waiting[1 - port]
        groups = self._groups_of[port](batch.values)
        for group, time, record in zip(groups, batch.times, batch.values, strict=True):
            is_matched = False
            if not _has_null(group):
                for partner_time, partner in other.partners(group, time, self._within_ms):
                    is_matched = True
                    left, right = (record, partner) if port == _LEFT else (partner, record)
                    yield group, max(time, partner_time), left, right
            key = (group, time, self._next_number)
            self._next_number += 1
            own.put(key, record, is_matched=is_matched)
            self._due.add(self._given_up_ms(time), (port, key))

    def _given_up_ms(self, time: int) -> int:
        """The watermark from which on every record is more than `within` after this one."""
        return time + self._within_ms + 1

    def _give_up(self, horizon_ms: int) -> Iterator[Match]:
        """Forget the records for which no partner can come any more; those that had none and are asked for."""
        for _, due in self._due.take(horizon_ms):
            alone: list[tuple[bytes, int, Match]] = []
            for port, key in due:
                group, time, number = key
                record, is_matched = self._waiting[port].take(key)
                if self._gives_unmatched[port] and not is_matched:
                    row = (group, time, record, None) if port == _LEFT else (group, time, None, record)
                    alone.append((encode_key(group), number, row))
            alone.sort(key=itemgetter(0, 1))
            yield from (row for _, _, row in alone)

    def _values(self, matches: list[Match]) -> list[Value]:
        if self._emit is not None:
            return self._emit([{"left": left, "right": right} for _, _, left, right in matches])
        return [self._on.fields(group) | {"left": left, "right": right} for group, _, left, right in matches]


def _has_null(group: Any) -> bool:
    return None in group if type(group) is tuple else group is None
