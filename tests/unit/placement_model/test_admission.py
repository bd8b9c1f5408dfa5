"""A flow that can't be placed is told why, and what would do."""

from random import Random

import pytest

from placement.admission import Refusal, why_refused
from placement.ants.host_view import HostView
from placement.model import Edge, Flow, Sink, Source, Task, chain
from placement.queueing import IDLE, Stream

VIEWS = [HostView("a", 1.0, IDLE), HostView("b", 4.0, IDLE), HostView("c", 1.0, IDLE)]


def delay_ms(a: str, b: str) -> float:
    return 10.0 * abs(ord(a) - ord(b))


def flow(*, rate: float = 0.01, work: float = 4.0, bound_ms: float = 1_000.0) -> Flow:
    return chain("f", Source("in", "a", rate), (Task("f.1", work),), Sink("out", "c"), latency_bound_ms=bound_ms)


def refused(of: Flow, views: list[HostView] = VIEWS) -> Refusal:
    return why_refused(of, views, delay_ms, rng=Random(1))


def test_a_bound_below_the_best_latency_is_told_with_the_nearest_that_would_do() -> None:
    """20 ms of way and 1 ms of work on the fast host: nothing below that."""
    found = refused(flow(bound_ms=15.0))
    assert ("latency", 23.0) == (found.binding, found.nearest_bound_ms)
    assert "relax qos.latency_ms to 23" in found.why
    assert "none" == refused(flow(bound_ms=23.0)).binding, "the bound that was named does"


def test_no_room_is_told_with_what_is_missing() -> None:
    """1.2 of the largest host, in one piece."""
    found = refused(flow(rate=1.2, work=4.0))
    assert ("capacity", None) == (found.binding, found.nearest_bound_ms)
    assert "f/f.1: needs 4.800 VWU/ms, the emptiest host b has 3.920" in found.why


def test_what_already_runs_counts() -> None:
    """The same flow on a host that others have filled."""
    full = Stream(0.95, 4.0, 1.0, 1.0, 1.0).load(4.0)
    assert "none" == refused(flow(rate=0.3)).binding
    assert "capacity" == refused(flow(rate=0.3), [VIEWS[0], HostView("b", 4.0, full), VIEWS[2]]).binding


@pytest.mark.parametrize("gone", ["a", "c"])
def test_an_end_on_a_host_that_nobody_knows_is_no_crash(gone: str) -> None:
    """A cell may not have heard of the consumer's host yet."""
    assert "unknown" == refused(flow(), [view for view in VIEWS if view.host != gone]).binding


def test_a_bound_is_about_the_longest_path() -> None:
    """One consumer beside the producer and one 20 ms away: a mean of 11 ms keeps nobody's promise of 15 to both."""
    fork = Flow(
        "f",
        (Source("in", "a", 0.01),),
        (Task("f.1", 1.0),),
        (Sink("near", "a"), Sink("far", "c")),
        (Edge("in", "f.1"), Edge("f.1", "near"), Edge("f.1", "far")),
        latency_bound_ms=15.0,
    )
    found = refused(fork)
    assert ("latency", 23.0) == (found.binding, found.nearest_bound_ms)


def test_a_drained_host_elsewhere_does_not_change_the_answer() -> None:
    """It is full; the best placement is as good as without it."""
    full = HostView("d", 1.0, Stream(1.0, 1.0, 1.0, 1.0, 0.0).load(1.0))
    assert refused(flow(bound_ms=15.0)) == refused(flow(bound_ms=15.0), [*VIEWS, full])
