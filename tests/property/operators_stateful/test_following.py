"""A standby that has followed an owner takes over with what a host derives that reads all of the changelog at once.

The owner commits now and then: what it drains goes to a log, and at times a piece of a snapshot is taken. The standby
begins at any moment, with a snapshot if there is a complete one, and reads in portions of any size, which end in the
middle of commits as they like.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.aggregate import Aggregate
from services.operators.batch import END_MS, Batch
from services.operators.changes import Changes
from services.operators.closed_windows import ClosedWindows
from services.operators.dedupe import Dedupe
from services.operators.join import Join
from services.operators.operator import Operator
from services.operators.session import Sessions
from services.operators.table import decode_key, encode_key, encode_value, entries_of
from services.operators.top_k import TopK
from topics import expressions
from topics.flow import specs

EMIT = (specs.Aggregation("n", "count"), specs.Aggregation("x", "max", expressions.parse("x")))
VALUES: list[dict[str, Any]] = [{"k": k, "x": x} for k in ("a", "b", "c", None) for x in (1, 2, 5)]


def aggregate(window: specs.Window | None) -> Callable[[], Operator]:
    return lambda: Aggregate(specs.Aggregate("in", ("k",), EMIT, window))


MAKERS: dict[str, tuple[Callable[[], Operator], int]] = {
    "running": (aggregate(None), 1),
    "tumbling": (aggregate(specs.Window(size_ms=10)), 1),
    "hopping": (aggregate(specs.Window(size_ms=12, hop_ms=4)), 1),
    "changes": (aggregate(specs.Window(size_ms=12, hop_ms=4, emit="change")), 1),
    "sessions": (aggregate(specs.Window(gap_ms=3)), 1),
    "dedupe": (lambda: Dedupe(specs.Dedupe("in", ("k", "x"), 8)), 1),
    "top": (lambda: TopK(specs.TopK("in", 2, expressions.parse("x"), ("k",), "desc", specs.Window(size_ms=10))), 1),
    "inner": (lambda: Join(specs.Join("l", "r", (("k", "k"),), 7, "inner")), 2),
    "outer": (lambda: Join(specs.Join("l", "r", (("k", "k"),), 7, "outer")), 2),
}

Change = tuple[str, bytes, bytes | None]


class Log:
    """What the owner has committed: its changes, and the snapshots that it takes while it works on."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.snapshot: tuple[int, list[Change]] | None = None
        """The newest complete one: where in the changes it begins, and its entries."""
        self._begun_at = 0
        self._pieces: Iterator[list[Change]] | None = None
        self._taken: list[Change] = []

    def commit(self, operator: Operator, *, snapshots: bool) -> None:
        before = len(self.changes)
        for name, table in operator.tables.items():
            self.changes += [(name, key, value) for key, value in table.drain()]
        if self._pieces is None and snapshots:
            self._begun_at, self._taken = before, []
            self._pieces = _pieces(operator)
        if self._pieces is not None:
            piece = next(self._pieces, None)
            if piece is None:
                self.snapshot, self._pieces = (self._begun_at, self._taken), None
            else:
                self._taken += piece


def _pieces(operator: Operator) -> Iterator[list[Change]]:
    """Two keys at a time, of which some may be gone when their turn comes."""
    for name, table in operator.tables.items():
        keys = list(table.data)
        for start in range(0, len(keys), 2):
            left = [key for key in keys[start : start + 2] if key in table.data]
            yield [(name, encode_key(key), encode_value(table.data[key])) for key in left]


class Follower:
    """A standby: `read` as many changes as one likes."""

    def __init__(self, make: Callable[[], Operator], log: Log) -> None:
        self.operator = make()
        self._log = log
        self._position = 0
        if log.snapshot is not None:
            self._position, pieces = log.snapshot
            for name, key, value in pieces:
                self.operator.restore(name, entries_of([(key, value)]))

    def read(self, count: int) -> None:
        portion = self._log.changes[self._position : self._position + count]
        self._position += len(portion)
        for name in dict.fromkeys(name for name, _, _ in portion):
            self.operator.restore(name, entries_of((key, value) for each, key, value in portion if each == name))


def cold(make: Callable[[], Operator], log: Log) -> Operator:
    """All at once, the last change of each key."""
    operator = make()
    last = {(name, key): value for name, key, value in log.changes}
    for name in operator.tables:
        operator.restore(name, entries_of((key, value) for (each, key), value in last.items() if each == name))
    return operator


def contents(operator: Operator) -> dict[str, Any]:
    return {name: table.data for name, table in operator.tables.items()}


def due(holder: Any) -> Counter[Any]:
    return Counter((time, key) for time, keys in holder._due._keys.items() for key in keys)


def derived(operator: Any) -> Any:
    """What two operators with equal tables must both have derived, and check what has another form in each."""
    inner = getattr(operator, "_grouping", operator)
    if isinstance(inner, ClosedWindows):
        for (start, group), states in inner._states.data.items():
            assert inner._panes[start][group] is states, "a change of one must be one of the other"
        return inner._panes, inner._starts
    if isinstance(inner, Sessions):
        watermark_ms = inner._horizon.watermark_ms
        noted = {group: time for time, group in sorted(due(inner), key=itemgetter(0), reverse=True)}
        for group, sessions in inner._sessions.data.items():
            assert watermark_ms < noted[group] <= sessions[0][1] + inner._gap_ms, "it would be closed too late"
        return inner._sessions.data
    if isinstance(inner, Dedupe):
        return set(due(inner))
    if isinstance(inner, Join):
        return due(inner), [waiting._by_group for waiting in inner._waiting]
    assert isinstance(inner, Changes)
    return due(inner)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=250)
@given(seed=st.integers(0, 2**32), records=st.integers(0, 60), tail=st.integers(0, 12))
def test_whoever_has_followed_has_derived_what_a_fresh_reader_derives(
    streams: SimpleNamespace, name: str, seed: int, records: int, tail: int
) -> None:
    """Otherwise a window would be closed twice, late or never after a move, and nobody would know why."""
    make, ports = MAKERS[name]
    chance = random.Random(seed)
    arrivals = streams.stream(chance.randbytes(1 + 3 * records), VALUES, ports=ports).arrivals
    before, after = arrivals[: max(0, len(arrivals) - tail)], arrivals[max(0, len(arrivals) - tail) :]
    owner, log = make(), Log()
    follower: Follower | None = None
    for arrival in before:
        owner.process(streams.batch_of([arrival]), arrival.port)
        if chance.random() < 0.7:
            log.commit(owner, snapshots=chance.random() < 0.5)
        if follower is None and chance.random() < 0.2:
            follower = Follower(make, log)
        if follower is not None:
            follower.read(chance.randrange(6))
    log.commit(owner, snapshots=False)
    follower = follower or Follower(make, log)
    while follower._position < len(log.changes):
        follower.read(chance.randrange(1, 8))
    fresh = cold(make, log)
    assert contents(owner) == contents(fresh) == contents(follower.operator)
    assert derived(fresh) == derived(follower.operator)
    ends = [(Batch.empty(END_MS), port) for port in range(ports)]
    for batch, port in [*((streams.batch_of([each]), each.port) for each in after), *ends]:
        assert rows(owner, batch, port) == rows(fresh, batch, port) == rows(follower.operator, batch, port)
    assert written(fresh) == written(follower.operator)


def rows(operator: Operator, batch: Batch, port: int) -> Any:
    out = operator.process(batch, port)
    assert isinstance(out, Batch)
    return out.values, out.keys, out.times, out.watermark_ms


def written(operator: Operator) -> Any:
    """What it would commit. The numbers that a join gives to those who wait only tell their order."""
    rows: Counter[Any] = Counter()
    for name, table in operator.tables.items():
        for key, value in table.drain():
            waits = isinstance(operator, Join) and name != "watermarks"
            rows[name, encode_key(decode_key(key)[:2]) if waits else key, value] += 1
    return rows


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_derived_does_not_grow_with_the_time_for_which_one_follows(name: str) -> None:
    """A standby follows for days. What the owner has closed must leave it, and a change of what is known adds
    nothing."""
    make, ports = MAKERS[name]
    owner, log = make(), Log()
    follower = Follower(make, log)
    for time in range(2_000):
        for port in range(ports):
            owner.process(Batch([VALUES[time % 12]], [None], [time], [time], time - 2), port)
        log.commit(owner, snapshots=False)
        follower.read(5)
    follower.read(len(log.changes))
    inner: Any = getattr(follower.operator, "_grouping", follower.operator)
    noted = sum(due(inner).values()) if hasattr(inner, "_due") else len(inner._panes)
    assert noted <= 60


@pytest.mark.parametrize("name", MAKERS)
def test_what_was_forgotten_leaves_nothing(name: str) -> None:
    """A standby that begins anew begins with the same operators."""
    make, ports = MAKERS[name]
    operator = make()
    for time in range(40):
        for port in range(ports):
            operator.process(Batch([VALUES[time % 12]], [None], [time], [time], time - 30), port)
    assert any(contents(operator).values())
    for _ in operator.forget():
        pass
    assert not any(contents(operator).values())
    assert derived(make()) == derived(operator)
    assert written(make()) == written(operator)
    inner: Any = getattr(operator, "_grouping", operator)
    assert not (inner._due._times if hasattr(inner, "_due") else inner._starts)
