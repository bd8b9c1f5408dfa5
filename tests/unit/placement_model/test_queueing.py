"""The queueing formulas against what textbooks give in closed form."""

import math

import pytest

from placement.queueing import (
    IDLE,
    Load,
    Stream,
    aggregate_ca2,
    aggregate_cs2,
    departure_ca2,
    link_wait_ms,
    load_of,
    merge_weight,
    scaled_ca2,
    wait_ms,
    wire_stream,
)

RHOS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)


@pytest.mark.parametrize("rho", RHOS)
def test_poisson_arrivals_and_exponential_service_wait_as_in_m_m_1(rho: float) -> None:
    """M/M/1: rho / (mu - lambda), here with mu = 1/2."""
    load = Stream(rho / 2.0, 2.0, 1.0, 1.0, 1.0).load(1.0)
    assert rho / (0.5 - rho / 2.0) == pytest.approx(wait_ms(load))


@pytest.mark.parametrize("rho", RHOS)
def test_constant_service_waits_half_as_long(rho: float) -> None:
    """M/D/1 is half of M/M/1: variation is half of the queue."""
    load = Stream(rho, 1.0, 0.0, 1.0, 1.0).load(1.0)
    assert rho / (2.0 * (1.0 - rho)) == pytest.approx(wait_ms(load))


@pytest.mark.parametrize("rho", RHOS)
def test_merged_poisson_streams_wait_as_in_m_g_1(rho: float) -> None:
    """Poisson streams merge to a Poisson stream, so Pollaczek and Khinchine are exact whatever the services."""
    streams = (Stream(rho / 3.0, 1.0, 0.5, 1.0, 1.0), Stream(rho / 6.0, 4.0, 2.0, 1.0, 1.0))
    second = rho / 3.0 * 1.0 * 1.5 + rho / 6.0 * 16.0 * 3.0
    assert second / (2.0 * (1.0 - rho)) == pytest.approx(wait_ms(load_of(streams, 1.0), cap=1.0))


def test_the_short_form_of_the_wait_is_equation_9() -> None:
    """The code keeps lambda E[S^2] as one sum; put together from eqs 4 to 8 it must be the same number."""
    streams = (Stream(0.05, 4.0, 0.5, 1.7, 1.0), Stream(0.1, 3.0, 2.0, 0.4, 1.0), Stream(0.02, 9.0, 0.0, 1.0, 1.0))
    rate = sum(s.rate_per_ms for s in streams)
    mu = rate / sum(s.rate_per_ms * s.work for s in streams)
    rho = rate / mu
    cs2 = mu**2 / rate * sum(s.rate_per_ms * s.work**2 * (s.cs2 + 1) for s in streams) - 1
    v = 1 / sum((s.rate_per_ms / rate) ** 2 for s in streams)
    w = 1 / (1 + 4 * (1 - rho) ** 2 * (v - 1))
    ca2 = (1 - w) + w * sum(s.ca2 * s.rate_per_ms / rate for s in streams)
    load = load_of(streams, 1.0)
    assert w == pytest.approx(merge_weight(load))
    assert cs2 == pytest.approx(aggregate_cs2(load))
    assert ca2 == pytest.approx(aggregate_ca2(load))
    assert rho / (1 - rho) * (ca2 + cs2) / 2 / mu == pytest.approx(wait_ms(load))


def test_capacity_divides_service_and_utilisation() -> None:
    """1 VWU is 1 ms at capacity 1: twice the capacity, half the time."""
    stream = Stream(0.1, 4.0, 1.0, 1.0, 1.0)
    assert 0.4 == pytest.approx(stream.load(1.0).rho)
    assert 0.2 == pytest.approx(stream.load(2.0).rho)
    assert 0.2 / 0.8 * 2.0 == pytest.approx(wait_ms(stream.load(2.0)))


def test_an_idle_server_makes_nobody_wait() -> None:
    """The neutral element."""
    assert 0.0 == wait_ms(IDLE)
    assert Load() == IDLE.plus(IDLE)


def test_a_server_at_its_cap_refuses() -> None:
    """Beyond 0.98 a wait is not a number to plan with."""
    assert math.isinf(wait_ms(Stream(0.98, 1.0, 1.0, 1.0, 1.0).load(1.0)))
    assert math.isfinite(wait_ms(Stream(0.979, 1.0, 1.0, 1.0, 1.0).load(1.0)))
    assert math.isfinite(wait_ms(Stream(0.98, 1.0, 1.0, 1.0, 1.0).load(1.0), cap=1.0))


def test_a_link_is_a_server_whose_work_is_bytes() -> None:
    """Messages of one size on a wire: M/D/1 with the transmission time as service."""
    load = wire_stream(0.05, 1000.0).load(100.0)
    assert 0.5 == pytest.approx(load.rho)
    assert 0.5 / (2 * 0.5) * 10.0 == pytest.approx(link_wait_ms(load))
    assert math.isinf(link_wait_ms(wire_stream(0.1, 1000.0).load(100.0)))


def test_a_busy_server_shapes_what_leaves_it() -> None:
    """Whitt's departures: arrivals pass an idle server unchanged, a full one gives out its own service times."""
    assert 3.0 == departure_ca2(0.0, 0.5, 3.0)
    assert 0.5 == departure_ca2(1.0, 0.5, 3.0)
    assert 1.0 == pytest.approx(departure_ca2(0.6, 1.0, 1.0))


def test_a_filter_makes_a_stream_more_random_and_a_batch_more_bursty() -> None:
    """A random subset of anything tends to Poisson; messages that come together add variation."""
    assert 1.0 == scaled_ca2(1.0, 0.3)
    assert 0.9 == pytest.approx(scaled_ca2(0.0, 0.1))
    assert 3.0 == scaled_ca2(1.0, 2.0)
    assert 1.7 == scaled_ca2(1.7, 1.0)
