"""Hot spots of small worlds whose future can be reckoned by hand."""

import numpy as np
import pytest

from placement.hotspots import HotSpotParams, Outlook, Stops, foresee, hot_spots, movers
from placement.model.errors import ModelError
from placement.queueing.arrays import SUMS
from placement.queueing.real_queue import draw, lindley

HORIZONS_S = np.array([1.0, 2.0, 5.0])


def world(loads: dict[tuple[str, str], float], *, bound_ms: float = 50.0, backlog_ms: float = 0.0) -> Outlook:
    """(flow, host) -> utilisation that the flow causes there, with messages of 1 ms."""
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


def warn(outlook: Outlook, factors: list[float], error: float = 0.02):  # type: ignore[no-untyped-def]
    shape = (len(outlook.flows), len(HORIZONS_S))
    ahead = foresee(outlook, np.broadcast_to(factors, shape), np.full(shape, error), HORIZONS_S)
    return ahead, hot_spots(outlook, ahead, HotSpotParams())


def test_a_calm_flow_has_the_slack_of_the_queueing_formula_and_no_warning() -> None:
    """M/M/1 at 0.5: 1 ms of wait beside 5 ms of the rest."""
    ahead, spots = warn(world({("a", "x"): 0.5}), [1.0, 1.0, 1.0])
    assert [50 - 6] * 3 == pytest.approx(ahead.slack_ms[0].tolist())
    assert [] == spots
    assert ahead.chance.max() < 1e-6


def test_a_rate_that_will_exceed_the_host_is_told_with_flow_host_time_and_certainty() -> None:
    _, [spot] = warn(world({("a", "x"): 0.6, ("b", "y"): 0.3}), [1.0, 2.0, 2.0])
    assert ("a", "x", 2.0) == (spot.flow, spot.host, spot.in_s)
    assert spot.sure > 0.95
    assert spot.slack_ms < 0


def test_an_unsure_forecast_gives_an_unsure_warning() -> None:
    sure, _ = warn(world({("a", "x"): 0.6}), [1.3, 1.3, 1.3], error=0.01)
    unsure, _ = warn(world({("a", "x"): 0.6}), [1.3, 1.3, 1.3], error=0.5)
    assert sure.chance[0, 1] < 0.01
    assert 0.1 < unsure.chance[0, 1] < 0.5


def test_work_that_piled_up_drains_at_what_the_host_has_left() -> None:
    """1,700 ms of work, half the host free: 500 ms of it drain in a second."""
    ahead, _ = warn(world({("a", "x"): 0.5}, backlog_ms=1_700.0), [1.0, 1.0, 1.0])
    assert [1_701 - 500, 1_701 - 1_000, 1] == pytest.approx(ahead.waits_ms[0].tolist())


@pytest.mark.parametrize("rho", [0.7, 0.95, 1.2])
def test_waits_ahead_are_those_of_a_real_queue_that_begins_empty(rho: float) -> None:
    """Message by message, 400 times: what the last messages before each horizon waited."""
    rng = np.random.default_rng(5)
    seen = np.zeros((400, len(HORIZONS_S)))
    for run in range(400):
        arrivals = np.cumsum(draw(1.0 / rho, 1.0, 8_000, rng))
        waits = lindley(arrivals, draw(1.0, 1.0, 8_000, rng))
        seen[run] = [waits[np.searchsorted(arrivals, at_s * 1e3) - 1] for at_s in HORIZONS_S]
    ahead, _ = warn(world({("a", "x"): rho}), [1.0, 1.0, 1.0])
    assert seen.mean(axis=0) == pytest.approx(ahead.waits_ms[0], rel=0.35)


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


def test_a_threshold_that_is_no_chance_is_refused() -> None:
    with pytest.raises(ModelError, match="between 0 and 1"):
        HotSpotParams(sure=1.0)
