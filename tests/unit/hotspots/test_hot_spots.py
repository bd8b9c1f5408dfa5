"""Hot spots of small worlds whose future can be reckoned by hand."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from placement.hotspots import Foresight, HotSpot, Outlook, Stops, foresee, hot_spots, movers
from placement.queueing.arrays import SUMS
from placement.queueing.real_queue import draw, lindley

HORIZONS_S = np.array([1.0, 2.0, 5.0])


def world(
    loads: dict[tuple[str, str], float],
    *,
    bound_ms: float = 50.0,
    backlog_ms: float = 0.0,
    theirs_ms: Sequence[float] | None = None,
) -> Outlook:
    """(flow, host) -> utilisation that the flow causes there, with messages of 1 ms.

    `backlog_ms`: at each host, nobody's; `theirs_ms`: each flow's own.
    """
    flows, hosts = tuple(sorted({f for f, _ in loads})), tuple(sorted({h for _, h in loads}))
    count = len(loads)
    stops = Stops(
        np.array([flows.index(flow) for flow, _ in loads]),
        np.array([hosts.index(host) for _, host in loads]),
        np.array(list(loads.values())),
        np.ones(count),
        np.ones(count),
        np.ones(count),
        np.ones(count),
        np.zeros(count) if theirs_ms is None else np.array(theirs_ms),
    )
    return Outlook(
        flows,
        np.full(len(flows), bound_ms),
        np.full(len(flows), 5.0),
        hosts,
        stops,
        np.zeros((SUMS, len(hosts))),
        np.full(len(hosts), backlog_ms),
    )


def warn(outlook: Outlook, factors: list[float], error: float = 0.02) -> tuple[Foresight, list[HotSpot]]:
    """All flows at these multiples of their rates, in courses that are spread evenly around them."""
    spread = np.linspace(-2 * error, 2 * error, 41)
    courses = np.maximum(np.array(factors)[None, :, None] + spread, 0.0)
    ahead = foresee(outlook, np.repeat(courses, len(outlook.flows), axis=0), HORIZONS_S)
    return ahead, hot_spots(outlook, ahead, 0.8)


def test_a_calm_flow_has_the_slack_of_the_queueing_formula_and_no_warning() -> None:
    """M/M/1 at 0.5: 1 ms of wait beside 5 ms of the rest."""
    ahead, spots = warn(world({("a", "x"): 0.5}), [1.0, 1.0, 1.0])
    assert [50 - 6] * 3 == pytest.approx(ahead.slack_ms[0].tolist(), abs=0.01)
    assert [] == spots
    assert 0 == ahead.chance.max()


def test_a_rate_that_will_exceed_the_host_is_told_with_flow_host_time_and_certainty() -> None:
    _, [spot] = warn(world({("a", "x"): 0.6, ("b", "y"): 0.3}), [1.0, 2.0, 2.0])
    assert ("a", "x", 2.0) == (spot.flow, spot.host, spot.in_s)
    assert spot.sure > 0.95
    assert spot.slack_ms < 0


def test_the_chance_is_the_share_of_courses_in_which_the_bound_is_broken_by_then() -> None:
    """A burst that is over by a horizon still counts for it."""
    outlook = world({("a", "x"): 0.5})
    courses = np.ones((1, len(HORIZONS_S), 10))
    courses[0, 0, :3] = 3.0
    courses[0, 2, 3:5] = 3.0
    ahead = foresee(outlook, courses, HORIZONS_S)
    assert [0.3, 0.3, 0.5] == ahead.chance[0].tolist()
    assert [] == hot_spots(outlook, ahead, 0.6)
    [spot] = hot_spots(outlook, ahead, 0.5)
    assert (5.0, 0.5) == (spot.in_s, spot.sure)


def test_work_that_piled_up_drains_at_what_the_host_has_left() -> None:
    """1,700 ms of work, half the host free: 500 ms of it drain in a second; told is the middle of each second."""
    ahead, _ = warn(world({("a", "x"): 0.5}, backlog_ms=1_700.0), [1.0, 1.0, 1.0])
    assert [1_700 - 250, 1_700 - 750] == pytest.approx(ahead.waits_ms[0, :2].tolist(), rel=1e-3)


@pytest.mark.parametrize("rho", [0.7, 0.95, 1.2])
def test_waits_ahead_are_those_of_a_real_queue_that_begins_empty(rho: float) -> None:
    """Message by message, 400 times: what messages waited in the second before each horizon."""
    rng = np.random.default_rng(5)
    horizons_s = np.array([1.0, 2.0, 3.0])
    seen = np.zeros((400, len(horizons_s)))
    for run in range(400):
        arrivals = np.cumsum(draw(1.0 / rho, 1.0, 5_000, rng))
        waits = lindley(arrivals, draw(1.0, 1.0, 5_000, rng))
        ends = np.searchsorted(arrivals, np.concatenate([[0.0], horizons_s]) * 1e3)
        seen[run] = [waits[start:end].mean() for start, end in itertools.pairwise(ends)]
    ahead = world({("a", "x"): rho}).waits_ms(np.ones((1, len(horizons_s))), horizons_s)
    assert seen.mean(axis=0) == pytest.approx(ahead[0], rel=0.25)


def test_the_one_whose_leaving_suffices_is_told_to_leave() -> None:
    """Three share a host; without the heavy one the others fit, without a light one they do not."""
    outlook = world({("heavy", "x"): 0.5, ("light", "x"): 0.2, ("small", "x"): 0.1})
    ahead, spots = warn(outlook, [1.6, 1.6, 1.6])
    assert {"heavy", "light", "small"} == {spot.flow for spot in spots}
    assert ["heavy"] == movers(outlook, ahead, spots[0])


def test_where_one_is_not_enough_the_heaviest_go_first() -> None:
    outlook = world({("a", "x"): 0.4, ("b", "x"): 0.35, ("c", "x"): 0.3})
    ahead, spots = warn(outlook, [2.0, 2.0, 2.0])
    assert ["a", "b"] == movers(outlook, ahead, spots[0]), "0.6 is left for c"


def test_who_may_not_be_moved_is_not_told_to_leave() -> None:
    """It would be named again and again, and nobody else."""
    outlook = world({("a", "x"): 0.4, ("b", "x"): 0.35, ("c", "x"): 0.3})
    ahead, spots = warn(outlook, [2.0, 2.0, 2.0])
    assert ["b", "c"] == movers(outlook, ahead, spots[0], {"a"})
    assert ["c"] == movers(outlook, ahead, spots[0], {"a", "b"}), "better than nobody"
    assert [] == movers(outlook, ahead, spots[0], {"a", "b", "c"})


def test_the_last_one_need_not_follow_those_who_leave() -> None:
    """Two flows on a host whose queue no leaving empties in time: one goes, the other has the host to itself."""
    outlook = world({("a", "x"): 0.8, ("b", "x"): 0.7}, bound_ms=500.0, backlog_ms=4_000.0)
    ahead, spots = warn(outlook, [1.0, 1.0, 1.0])
    assert ["a"] == movers(outlook, ahead, spots[0])
    alone = world({("a", "x"): 1.5}, bound_ms=500.0, backlog_ms=4_000.0)
    ahead, spots = warn(alone, [1.0, 1.0, 1.0])
    assert ["a"] == movers(alone, ahead, spots[0]), "there may be a faster host"


def test_who_leaves_takes_its_backlog_along() -> None:
    """Three flows with as much load; two seconds of work wait, all of one, which is who leaves."""
    loads = {("a", "x"): 0.2, ("b", "x"): 0.2, ("c", "x"): 0.2}
    outlook = world(loads, bound_ms=500.0, theirs_ms=[0.0, 2_000.0, 0.0])
    ahead, spots = warn(outlook, [1.0, 1.0, 1.0])
    assert {"a", "b", "c"} == {spot.flow for spot in spots}, "they all wait in the same queue"
    assert 1_800.0 == pytest.approx(ahead.waits_ms[0, 0], rel=1e-3), "0.4 s of it drain in a second; the middle is told"
    assert ["b"] == movers(outlook, ahead, spots[0])
    nobodys = world(loads, bound_ms=500.0, backlog_ms=2_000.0)
    assert 1 < len(movers(nobodys, *_first(nobodys))), "what is not known to be anybody's stays"


def _first(outlook: Outlook) -> tuple[Foresight, HotSpot]:
    ahead, spots = warn(outlook, [1.0, 1.0, 1.0])
    return ahead, spots[0]


def test_company_is_who_shares_hosts_and_changes_for_all_of_them() -> None:
    before = world({("a", "x"): 0.1, ("b", "x"): 0.1, ("c", "y"): 0.1, ("a", "z"): 0.1}).company()
    assert {("x", "a"), ("x", "b"), ("z", "a")} == before["a"]
    after = world({("a", "x"): 0.1, ("b", "y"): 0.1, ("c", "y"): 0.1, ("a", "z"): 0.1}).company()
    assert ["a", "b", "c"] == [flow for flow in sorted(before) if before[flow] != after[flow]]
