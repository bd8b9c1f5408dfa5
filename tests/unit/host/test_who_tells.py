"""Of the segments that read a source one sets aside what can't be read of it or comes late."""

from types import SimpleNamespace
from typing import Any

from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task_input import TaskInputs
from topics.flow.file import parse_graph

FLOW = """
flow: shop
sources:
  orders: {topic: orders, key: user, event_time: t, lateness: 1s}
operators:
  by_item: {op: aggregate, input: orders, by: [item], window: {size: 1s}, emit: {n: count()}}
  by_user: {op: aggregate, input: orders, by: [user], window: {size: 1s}, emit: {n: count()}}
sinks:
  items: {input: by_item, topic: items}
  users: {input: by_user, topic: users}
"""


def plans() -> list[SegmentPlan]:
    graph = parse_graph(FLOW)
    counts = {"orders": 1, "items": 1, "users": 1}
    return [plan_segment(graph, segment.id, counts) for segment in graph.segments]


def record(offset: int, value: bytes) -> Any:
    return SimpleNamespace(offset=offset, value=value, key=b"u", timestamp=0, headers=())


def test_one_of_all_readers_tells() -> None:
    """Else a record that nobody can read is a dead letter twice, and a person asks which of the two is true."""
    readers = [each for plan in plans() for each in plan.inputs if each.source is not None]
    assert 2 == len(readers)
    assert 1 == sum(each.tells for each in readers)


def test_the_other_readers_notice_what_they_leave_out_but_do_not_tell() -> None:
    """Both see the broken record, because a source that breaks for good parks them both; one hands on what is late."""
    records = [record(0, b'{"t": 100000, "user": "u"}'), record(1, b"{broken"), record(2, b'{"t": 1, "user": "u"}')]
    late, failed, dropped = [], [], {}
    for plan in plans():
        if plan.inputs[0].source is not None:
            inputs = TaskInputs(plan.inputs, 0)
            (parcel,) = inputs.read(plan.inputs[0].name, list(records), now_ms=0)
            late.append((plan.inputs[0].tells, list(parcel.late.offsets)))
            failed.append([failure.offset for failure in parcel.failures])
            dropped[plan.inputs[0].tells] = parcel.dropped
    assert {True: 0, False: 2} == dropped, "what one tells, the other drops, and counts"
    assert [[1], [1]] == failed
    assert [(False, []), (True, [2])] == sorted(late)
