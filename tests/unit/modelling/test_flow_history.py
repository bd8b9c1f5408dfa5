"""Flows of a time, from what a compacted topic still has of them."""

from collections.abc import Callable

from services.modelling.flow_history import Assumed, FlowHistory
from topics.messages import FlowRevision

Revision = Callable[..., FlowRevision]


def bound_ms(history: FlowHistory, at_ms: int) -> float | None:
    """Of the flow at that time; None: there was none."""
    facts = history.facts_at(at_ms)
    return facts["talk"].bound_ms if facts else None


def test_each_time_has_the_revision_that_was_in_force(revision: Revision) -> None:
    """Before its first revision and after its withdrawal a flow has no bound to break."""
    history = FlowHistory(
        [
            revision(3, 3_000, state="withdrawn"),
            revision(1, 1_000, bound_ms=50),
            revision(2, 2_000, bound_ms=80),
        ]
    )
    assert [None, 50, 50, 80, None] == [bound_ms(history, at) for at in (999, 1_000, 1_999, 2_000, 3_000)]
    assert [] == history.assumed(0, 9_000)


def test_where_a_revision_is_gone_the_next_stands_in_and_that_is_told(revision: Revision) -> None:
    """Compaction keeps the newest: today's bound is the best guess, and the reader must know that it is one."""
    history = FlowHistory([revision(2, 2_000, bound_ms=80), revision(5, 5_000, bound_ms=20)])
    assert [80, 80, 20, 20] == [bound_ms(history, at) for at in (1_000, 1_999, 4_000, 6_000)]
    assert [Assumed("talk", 2, 2_000), Assumed("talk", 5, 5_000)] == history.assumed(1_500, 9_000)
    assert [Assumed("talk", 5, 5_000)] == history.assumed(2_500, 9_000)
    assert [Assumed("talk", 2, 2_000)] == history.assumed(1_000, 1_900)
    assert [] == history.assumed(5_000, 9_000)


def test_facts_are_the_same_object_while_nothing_changes(revision: Revision) -> None:
    """The modeller then knows that it has nothing to learn, second by second."""
    history = FlowHistory([revision(1, 1_000), revision(2, 2_000)])
    assert history.facts_at(1_000) is history.facts_at(1_999)
    assert history.facts_at(1_999) is not history.facts_at(2_000)
