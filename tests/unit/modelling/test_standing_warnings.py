"""Who should leave a hot spot, found from what bears on it alone, and not every second."""

import numpy as np
import pytest

from placement.hotspots import Outlook, Stops, foresee, hot_spots, movers
from placement.queueing.arrays import SUMS
from services.modelling import standing_warnings as module
from services.modelling.seats import Seats
from services.modelling.standing_warnings import LEAVERS_S, StandingWarnings, Warned

HORIZONS_S = np.array([1.0, 2.0, 5.0, 10.0])


def warned(seed: int) -> Warned:
    """Twelve flows with two stops each on four hosts, some of which have more to do than they can."""
    rng = np.random.default_rng(seed)
    flow = np.repeat(np.arange(12), 2)
    host = (flow * 3 + np.tile([0, 1], 12)) % 4
    rates = rng.uniform(0.02, 0.3, len(flow))
    ones = np.ones(len(flow))
    stops = Stops(flow, host, rates, ones, 0.5 * ones, ones, ones, rng.uniform(0.0, 50.0, len(flow)))
    names = tuple(f"flow-{number:02}" for number in range(12))
    bounds_ms = rng.uniform(50.0, 400.0, 12)
    hosts = ("a", "b", "c", "d")
    outlook = Outlook(names, bounds_ms, np.full(12, 5.0), hosts, stops, np.zeros((SUMS, 4)), np.zeros(4))
    ahead = foresee(outlook, rng.uniform(0.8, 1.6, (12, len(HORIZONS_S), 20)), HORIZONS_S)
    return Warned(hot_spots(outlook, ahead, 0.5), {}, outlook, ahead, {}, 0.25)


@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_bear_on_a_host_changes_nothing(seed: int) -> None:
    """Else who should leave would be another one where the cluster is larger."""
    found = warned(seed)
    assert found.spots
    for spot in found.spots:
        here = found.outlook.stops.flow[found.outlook.stops.host == found.outlook.hosts.index(spot.host)]
        around = module._around(found.outlook, found.ahead, spot, here)
        assert movers(found.outlook, found.ahead, spot) == movers(*around, spot)


def test_who_should_leave_a_host_is_found_once_in_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many hosts are hot that would take longer than all other models; ants take seconds, too."""
    asked: list[str] = []
    monkeypatch.setattr(module, "movers", lambda outlook, ahead, spot: asked.append(spot.host) or [spot.flow])
    found, standing = warned(1), StandingWarnings(10)
    hosts = {spot.host for spot in found.spots}
    nobody = np.zeros(0)
    seats = Seats([], *[nobody] * 13)
    for second in range(100, 100 + LEAVERS_S):
        (columns,) = standing.columns(found, seats, second)
        assert [f"hotspot/{spot.flow}" for spot in sorted(found.spots, key=lambda spot: spot.flow)] == columns.keys
        assert {0.25} == set(columns.error.tolist())
    assert sorted(hosts) == sorted(asked)
    standing.columns(found, seats, 100 + LEAVERS_S)
    assert 2 * len(hosts) == len(asked)
