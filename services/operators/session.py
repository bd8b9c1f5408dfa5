"""Sessions: a group's records that follow each other in less than `gap` of event time.

A record at t is a session [t, t + gap) of its own; sessions of one group that overlap are one, from the first
record's time to the last one's plus the gap. So a record exactly `gap` after the last one begins a new session, and a
record that comes out of order may join two sessions. A session closes when the watermark reaches its end.

With `emit: change` each record gives the rows of the session that it is in after it; where it joins sessions, what
they gave before is out of date, and nothing says so but the bounds of the new rows.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from services.operators.batch import Batch, Value
from services.operators.due import Due
from services.operators.fold import Fold, Group, GroupReader
from services.operators.horizon import Horizon
from services.operators.operator import Operator
from services.operators.rest import ClosedGroup, Rest
from services.operators.rows import group_key
from services.operators.table import GONE, Entries, Table, encode_key

# A session in the table: [first record's time, last record's time, states].
Session = list[Any]
_FIRST, _LAST, _STATES = 0, 1, 2
Ended = tuple[int, bytes, Group, Session]
"""A session that is over: its end, its group as bytes and as it is, and itself."""


class Sessions(Operator):
    """Table `sessions`: group -> its open sessions in order of time, at least `gap` apart.

    Derived: `_due`, which has each group at the end of its first open session or, since sessions grow, before that.
    """

    disk_tables = ("sessions",)

    def __init__(self, groups_of: GroupReader, gap_ms: int, fold: Fold, *, emits_changes: bool) -> None:
        self._groups_of = groups_of
        self._gap_ms = gap_ms
        self._fold = fold
        self._emits_changes = emits_changes
        self._horizon = Horizon()
        self._sessions = Table()
        self._due = Due()
        self.tables = {"sessions": self._sessions, "watermark": self._horizon.table}
        self.rest: Rest = Rest()

    def restore(self, name: str, entries: Entries) -> None:
        known = [self._sessions.data.get(group) for group in entries] if name == "sessions" else []
        super().restore(name, entries)
        for (group, sessions), before in zip(entries.items(), known, strict=False):
            # Sessions end later and later as they grow: a group that is known stands early enough, unless its first one
            # now ends earlier.
            if sessions is not GONE and (before is None or sessions[0][_LAST] < before[0][_LAST]):
                self._due.add(sessions[0][_LAST] + self._gap_ms, group)
        if name == "watermark":
            self._look_again(self._horizon.watermark_ms)

    def _look_again(self, watermark_ms: int) -> None:
        """As the owner did when it came to this watermark. What it has closed may not have been brought in yet."""
        for _, groups in self._due.take(watermark_ms):
            for group in dict.fromkeys(groups):
                sessions = self._sessions.data.get(group)
                if sessions:
                    self._due.add(max(sessions[0][_LAST] + self._gap_ms, watermark_ms + 1), group)

    def forget(self) -> Iterator[None]:
        yield from super().forget()
        yield from self._due.forget()

    def process(self, batch: Batch, port: int) -> Batch:
        changes = self._add(self._horizon.admit(batch))
        before_ms = self._horizon.watermark_ms
        watermark_ms = self._horizon.advance(port, batch.watermark_ms)
        if self._emits_changes:
            self._ended(watermark_ms)
            return changes.with_watermark(watermark_ms)
        if watermark_ms > before_ms:
            self.rest.begin(self._closed(watermark_ms), before_ms, watermark_ms)
        return self.rest.take(watermark_ms)

    def _add(self, batch: Batch) -> Batch:
        groups = self._groups_of(batch.values)
        arguments = self._fold.arguments(batch.values)
        values: list[Value] = []
        origins: list[int] = []
        for i, (group, time) in enumerate(zip(groups, batch.times, strict=True)):
            session = self._session_at(group, time)
            if self._fold.add(session[_STATES], arguments[i], time) and self._emits_changes:
                values += self._rows(group, session)
                origins += [i] * (len(values) - len(origins))
        self._sessions.changed.update(groups)
        keys: list[bytes | None] = [group_key(groups[i]) for i in origins]
        times = [batch.times[i] for i in origins]
        return Batch(values, keys, times, [batch.offsets[i] for i in origins], batch.watermark_ms)

    def _session_at(self, group: Group, time: int) -> Session:
        """The session that a record at `time` belongs to, made, grown or joined as needed."""
        gap_ms = self._gap_ms
        sessions = self._sessions.data.get(group)
        if sessions is None:
            sessions = self._sessions.data[group] = []
        after = bisect_left(sessions, time, key=itemgetter(_FIRST))
        before = sessions[after - 1] if after else None
        behind = sessions[after] if after < len(sessions) else None
        if before is not None and time - before[_LAST] < gap_ms:
            before[_LAST] = max(before[_LAST], time)
            if behind is not None and behind[_FIRST] - before[_LAST] < gap_ms:
                before[_LAST] = behind[_LAST]
                self._fold.merge(before[_STATES], behind[_STATES])
                del sessions[after]
            return before
        if behind is not None and behind[_FIRST] - time < gap_ms:
            behind[_FIRST] = time
            return behind
        session: Session = [time, time, self._fold.zeros()]
        sessions.insert(after, session)
        self._due.add(time + gap_ms, group)
        return session

    def _closed(self, watermark_ms: int) -> Iterator[ClosedGroup]:
        for end, _, group, session in sorted(self._ended(watermark_ms), key=itemgetter(0, 1)):
            yield self._rows(group, session), group_key(group), end - 1

    def _ended(self, watermark_ms: int) -> list[Ended]:
        return [each for _, groups in self._due.take(watermark_ms) for each in self._end(groups, watermark_ms)]

    def _end(self, groups: list[Group], watermark_ms: int) -> Iterator[Ended]:
        """Remove and give out the sessions that have ended; note the first open one of each group where it is due."""
        for group in dict.fromkeys(groups):
            sessions = self._sessions.data.get(group, [])
            while sessions and (end := sessions[0][_LAST] + self._gap_ms) <= watermark_ms:
                yield end, encode_key(group), group, sessions.pop(0)
                self._sessions.changed.add(group)
            if sessions:
                self._due.add(end, group)
            else:
                self._sessions.remove(group)

    def _rows(self, group: Group, session: Session) -> list[Value]:
        rows = self._fold.rows(group, session[_STATES])
        for row in rows:
            row["window_start"] = session[_FIRST]
            row["window_end"] = session[_LAST] + self._gap_ms
        return rows
