"""What models know of flows: bounds, and who is upstream of whom."""

import pytest

from services.modelling import flow_facts
from services.modelling.flow_facts import facts_of
from topics.messages import FlowRevision

TEXT = """
flow: talk
qos: {latency_ms: 250}
sources:
  packets: {topic: packets}
operators:
  tcp: {op: filter, input: packets, where: "proto == 'tcp'"}
  small: {op: filter, input: tcp, where: "bytes < 100"}
  tiny: {op: filter, input: small, where: "bytes < 10"}
sinks:
  out: {input: tiny, topic: out}
"""


def revision(text: str, state: str = "submitted", flow: str = "talk") -> FlowRevision:
    return FlowRevision(flow=flow, revision=1, state=state, text=text, delivery="at_least_once", changed_ms=1)


def test_a_flow_has_its_bound_and_all_ancestors_the_nearest_first() -> None:
    """Any operator upstream may be the one whose changes tell what comes (Synergy 3.3.3)."""
    facts = facts_of([revision(TEXT)])["talk"]
    assert 250 == facts.bound_ms
    assert (("small", "tcp"), ("tiny", "small"), ("tiny", "tcp")) == facts.upstream
    assert {"tiny"} == facts.last


def test_flows_that_are_gone_or_unreadable_have_no_facts() -> None:
    """They are modelled all the same, without guides and slack."""
    assert {} == facts_of([revision(TEXT, "withdrawn"), revision("no flow", flow="other")])


def test_a_file_is_read_once_however_often_flows_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two thousand flows, each submit would otherwise cost twenty seconds of the fits' processor."""
    read: list[str] = []
    parse = flow_facts.parse_graph
    monkeypatch.setattr(flow_facts, "parse_graph", lambda text: read.append(text) or parse(text))
    flow_facts._facts_of_text.cache_clear()
    other = TEXT.replace("talk", "walk")
    facts_of([revision(TEXT)])
    assert {"talk", "walk"} == facts_of([revision(TEXT), revision(other, flow="walk")]).keys()
    assert [TEXT, other] == read
