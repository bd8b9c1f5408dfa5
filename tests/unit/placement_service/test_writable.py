"""What of a look can be written, and what not."""

from services.placement.writable import writable
from services.registry.changes import Entry
from services.registry.decisions import decision
from topics.messages import Decision


def told(flow: str, figures: int) -> Entry:
    evidence = {f"an-input-with-a-long-name-{number}.rate_per_s": 1.0 for number in range(figures)}
    return decision("placed", "what", "why", by="p", now_ms=1, flow=flow, request="r-1", evidence=evidence)


def test_a_decision_that_is_too_large_is_told_without_its_evidence() -> None:
    """A person may wait for it, and what was decided can well be done."""
    small, large = told("slim", 2), told("wide", 2_000)
    kept, wrong = writable([small, large])
    assert ({}, small) == (wrong, kept[0])
    cut = kept[1][1]
    assert isinstance(cut, Decision)
    assert ("wide", "r-1", {}) == (cut.flow, cut.request, cut.evidence)
