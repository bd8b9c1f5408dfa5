"""Silence and rest: who waits for whom behind a re-key."""

import pytest

from services.host.edge_headers import RESTS, born_header, rests
from services.operators.batch import Batch
from services.operators.table import entries_of
from services.operators.watermark import InputWatermarks, Upstream

HOUR_MS = 3_600_000


def said(watermark_ms: int) -> Batch:
    return Batch.empty(watermark_ms)


@pytest.fixture
def edge() -> InputWatermarks:
    """An edge with two upstream tasks, both of which have spoken."""
    watermarks = InputWatermarks({"e": Upstream(partitions=(0, 1), idle_ms=None)})
    watermarks.admit("e", 0, said(100), now_ms=0)
    watermarks.admit("e", 1, said(50), now_ms=0)
    return watermarks


def test_a_silent_upstream_is_waited_for(edge: InputWatermarks) -> None:
    """Its host may be down and its records still to come; closing windows without them would set them aside as late."""
    edge.admit("e", 0, said(500), now_ms=HOUR_MS)
    assert [] == edge.moved(now_ms=2 * HOUR_MS)
    assert 50 == edge.watermark_ms("e")


def test_an_upstream_that_rests_is_not_waited_for_until_it_speaks(edge: InputWatermarks) -> None:
    """Only it knows that its sources are idle."""
    edge.rest("e", 1)
    assert [("e", 100)] == edge.moved(now_ms=1)
    edge.admit("e", 1, said(120), now_ms=2)
    edge.admit("e", 0, said(900), now_ms=3)
    assert 120 == edge.watermark_ms("e")


def test_when_all_rest_time_is_where_the_farthest_had_come(edge: InputWatermarks) -> None:
    """Otherwise the last windows of a stream that ends would depend on who rests first."""
    edge.rest("e", 0)
    edge.rest("e", 1)
    assert [("e", 100)] == edge.moved(now_ms=1)


def test_an_input_that_rested_in_between_is_as_far_as_it_has_come_while_more_of_it_waits(edge: InputWatermarks) -> None:
    """What a task works off after an outage holds the rests of that time; what follows them must not become late."""
    edge.rest("e", 0)
    edge.rest("e", 1)
    assert [] == edge.moved(now_ms=1, unread={"e"})
    in_time, late = edge.admit("e", 1, Batch([{}], [None], [60], [0], 60), now_ms=2)
    assert (1, 0) == (len(in_time), len(late))


def test_rest_is_remembered_over_a_restart(edge: InputWatermarks) -> None:
    """A resting upstream does not say it again; a task made anew would wait for ever."""
    edge.rest("e", 1)
    other = InputWatermarks({"e": Upstream(partitions=(0, 1), idle_ms=None)})
    for name, table in edge.tables.items():
        other.tables[name].restore(entries_of(table.drain()))
    assert [("e", 100)] == other.moved(now_ms=1)


def test_a_task_is_idle_when_all_that_it_reads_is() -> None:
    """One source that still speaks keeps it awake."""
    watermarks = InputWatermarks({"s": Upstream((0,), 1_000), "e": Upstream((0,), None)})
    watermarks.admit("s", 0, said(5), now_ms=0)
    watermarks.admit("e", 0, said(5), now_ms=0)
    assert not watermarks.is_idle(now_ms=1_500)
    watermarks.rest("e", 0)
    assert not watermarks.is_idle(now_ms=500)
    assert watermarks.is_idle(now_ms=1_500)


def test_rest_travels_as_a_header() -> None:
    """Old blocks, and those that only tell a birth, do not say it."""
    assert rests([("other", None), *RESTS])
    assert not rests(born_header(5))
