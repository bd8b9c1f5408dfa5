"""The delay of a hop through Kafka, against a little broker played out in time."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.hop import HopParams, hop_ms, missed_ms

TRIPS_MS = st.floats(0.0, 500.0)
RATES_PER_MS = st.floats(0.0, 10.0)
PARAMS = HopParams(linger_ms=5, fetch_wait_ms=100, base_ms=3)


def played_ms(round_trip_ms: float, batches_per_ms: float, idle_wait_ms: float, rng: random.Random) -> float:
    """Mean wait of 60,000 batches at a broker that answers one fetch after the other, event by event."""
    waits: list[float] = []
    waiting: list[float] = []
    now_ms = back_ms = 0.0  # when the fetch is at the broker again
    while len(waits) < 60_000:
        now_ms += rng.expovariate(batches_per_ms)
        while back_ms <= now_ms:
            if waiting:
                waits += [back_ms - arrived_ms for arrived_ms in waiting]
                waiting = []
                back_ms += round_trip_ms
            elif back_ms + idle_wait_ms <= now_ms:
                back_ms += idle_wait_ms + round_trip_ms
            else:
                break
        if back_ms <= now_ms:
            waits.append(0.0)
            back_ms = now_ms + round_trip_ms
        else:
            waiting.append(now_ms)
    return sum(waits) / len(waits)


@pytest.mark.parametrize("idle_wait_ms", [50.0, 500.0, math.inf])
@pytest.mark.parametrize("batches_per_ms", [0.002, 0.02, 0.2])
@pytest.mark.parametrize("round_trip_ms", [10.0, 140.0])
def test_the_formula_is_what_fetching_does(round_trip_ms: float, batches_per_ms: float, idle_wait_ms: float) -> None:
    """A placement is only as good as this price; it must not be an opinion."""
    played = played_ms(round_trip_ms, batches_per_ms, idle_wait_ms, random.Random(7))
    assert played == pytest.approx(missed_ms(round_trip_ms, batches_per_ms, idle_wait_ms), rel=0.03, abs=0.05)


@given(TRIPS_MS, RATES_PER_MS, st.floats(0.0, 1e4))
def test_a_missed_fetch_costs_at_most_half_a_round_trip(round_trip_ms: float, rate: float, wait_ms: float) -> None:
    """The next fetch is never farther away than one round trip, and on the mean half of it."""
    assert 0.0 <= missed_ms(round_trip_ms, rate, wait_ms) <= round_trip_ms / 2 * (1 + 1e-12)


@given(TRIPS_MS, TRIPS_MS, TRIPS_MS, RATES_PER_MS)
def test_a_longer_way_never_takes_less(near_ms: float, far_ms: float, other_ms: float, rate: float) -> None:
    """Else a flow could gain by moving away."""
    near_ms, far_ms = sorted((near_ms, far_ms))
    for ways in ([(near_ms, other_ms), (far_ms, other_ms)], [(other_ms, near_ms), (other_ms, far_ms)]):
        short, long = (hop_ms(to_ms, from_ms, PARAMS, batches_per_ms=rate) for to_ms, from_ms in ways)
        assert short <= long + 1e-9


@given(TRIPS_MS, TRIPS_MS, TRIPS_MS, RATES_PER_MS)
def test_followers_must_have_a_record_before_anyone_reads_it(
    to_ms: float, from_ms: float, follower_ms: float, rate: float
) -> None:
    """High watermark: an edge pays for its slowest follower, even with acks=1."""
    alone_ms = hop_ms(to_ms, from_ms, PARAMS, batches_per_ms=rate)
    copied_ms = hop_ms(to_ms, from_ms, PARAMS, batches_per_ms=rate, slowest_follower_ms=follower_ms)
    assert copied_ms == pytest.approx(alone_ms + follower_ms)
