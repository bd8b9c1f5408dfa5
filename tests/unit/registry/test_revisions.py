"""What may change of a flow that runs: nothing may get its history a second time."""

import pytest

from services.registry.changes import submitted
from services.registry.errors import RegistryError
from services.registry.view import RegistryView
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

FLOW = """
flow: shop
sources:
  sales: {topic: sales, key: id}
operators:
  paid: {op: filter, input: sales, where: "price > 0"}
  totals: {op: aggregate, input: paid, by: [town], emit: {n: count()}}
sinks:
  out: {input: totals, topic: totals}
"""
MORE = FLOW.replace("  totals:", "  brief: {op: project, input: paid, fields: {town: town}}\n  totals:", 1).replace(
    "sinks:", "sinks:\n  short: {input: brief, topic: short}"
)


def revised(before: str, after: str) -> None:
    """One flow after the other, as the registry has them."""
    view = RegistryView()
    for text in (before, after):
        for _, message in submitted(view, parse_graph(text), text, {}, now_ms=1):
            view.take(message)


def test_a_reader_that_stays_as_it_is_may_not_get_all_of_it_once_more() -> None:
    """A branch beside a filter makes a new segment of it, which reads its source from the beginning; the totals behind
    it would count each sale twice, also in exactly_once."""
    ids = [{segment.id for segment in parse_graph(text).segments} for text in (FLOW, MORE)]
    assert 1 == len(ids[0] & ids[1]), "the totals are the same segment in both"
    with pytest.raises(RegistryError) as refused:
        revised(FLOW, MORE)
    assert "paid, brief would begin anew and send all records once more to totals" in str(refused.value)


def test_who_begins_anew_with_all_its_readers_may() -> None:
    """Another filter gives other totals: both are new, and so is a reader that gets another name."""
    revised(FLOW, FLOW.replace("price > 0", "price > 1"))
    revised(FLOW, MORE.replace("totals:", "sums:").replace("input: totals", "input: sums"))
    revised(FLOW, FLOW.replace("flow: shop", "flow: shop\nqos: {latency_ms: 100}"))


FUSED = """
flow: shop
sources:
  sales: {topic: sales, key: town}
operators:
  paid: {op: filter, input: sales, where: "price > 0"}
  totals: {op: aggregate, input: paid, by: [town], emit: {n: count()}}
sinks:
  out: {input: totals, topic: totals}
"""


def test_state_that_is_kept_may_not_get_all_of_it_once_more_in_another_segment() -> None:
    """State is kept by operator, offsets by segment: another operator beside the totals makes the segment a new one,
    which reads from the beginning and finds the totals of before."""
    brief = "  brief: {op: project, input: paid, fields: {town: town}}\n  totals:"
    beside = FUSED.replace("  totals:", brief, 1).replace("sinks:", "sinks:\n  short: {input: brief, topic: short}")
    assert [1, 1] == [len(parse_graph(text).segments) for text in (FUSED, beside)]
    with pytest.raises(RegistryError, match="once more to totals"):
        revised(FUSED, beside)
    revised(FUSED, beside.replace("totals:", "sums:").replace("input: totals", "input: sums"))


def test_a_flow_that_never_compiled_may_be_corrected() -> None:
    """Nothing of it has ever run."""
    view = RegistryView()
    view.take(
        FlowRevision(flow="shop", revision=1, state="submitted", text="flow: [", delivery="at_least_once", changed_ms=0)
    )
    assert 2 == submitted(view, parse_graph(FLOW), FLOW, {}, now_ms=1)[0][1].revision
