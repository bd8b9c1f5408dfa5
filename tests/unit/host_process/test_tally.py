"""The figures of `stigmergy top`."""

from typing import Any

import pytest

from services.cli.tally import WINDOW_S, Tally
from topics.messages import HostMetrics, Moments, OperatorMetrics, Sketch

NONE = Moments(0, 0.0, 0.0)


def row(**more: Any) -> OperatorMetrics:
    numbers = dict.fromkeys(
        ("arrivals", "outputs", "lag", "bytes_in", "bytes_out", "state_bytes", "late", "dropped", "dead_letters"), 0
    )
    names = {"host": "a", "flow": "shop", "segment": "shop.1", "operator": "large", "partition": 0, "second": 100}
    moments = dict.fromkeys(("gaps_us", "batch", "service_us", "wait_us"), NONE)
    return OperatorMetrics(**{**names, **numbers, **moments, **more})


def test_rates_are_over_the_window_and_lag_is_the_newest_of_each_partition() -> None:
    """Sums may be added over partitions and seconds; what is a state may not."""
    tally = Tally()
    for second in (100, 101):
        tally.add(row(second=second, arrivals=50, outputs=10, lag=second))
        tally.add(row(second=second, partition=1, arrivals=100, lag=7, state_bytes=5))
    (line,) = tally.operator_lines(now_s=102)
    assert (2, 300 / WINDOW_S, 20 / WINDOW_S) == (line.partitions, line.in_per_s, line.out_per_s)
    assert (108, 5) == (line.lag, line.state_bytes)


def test_means_weigh_by_count() -> None:
    """A second with many records counts more than one with few."""
    tally = Tally()
    tally.add(row(service_us=Moments(9, 90.0, 900.0), wait_us=Moments(2, 4_000.0, 0.0)))
    tally.add(row(service_us=Moments(1, 110.0, 12_100.0)))
    (line,) = tally.operator_lines(now_s=101)
    assert (20.0, 2.0) == (line.service_us, line.wait_ms)


def test_latency_is_of_all_samples_together() -> None:
    """A mean of quantiles would hide the slow partition."""
    tally = Tally()
    tally.add(row(latency_ms=Sketch.of([10.0] * 98)))
    tally.add(row(partition=1, latency_ms=Sketch.of([500.0] * 2)))
    (line,) = tally.operator_lines(now_s=101)
    assert (10.0, 500.0) == (pytest.approx(line.latency_ms_p50, rel=0.06), pytest.approx(line.latency_ms_p99, rel=0.06))
    tally = Tally()
    tally.add(row())
    assert tally.operator_lines(now_s=101)[0].latency_ms_p50 is None


def test_old_seconds_the_present_one_and_other_flows_do_not_count() -> None:
    """The present second is not over; its rows would make every rate look smaller."""
    tally = Tally()
    for second in (100 - WINDOW_S - 1, 99, 100):
        tally.add(row(second=second, arrivals=WINDOW_S))
    tally.add(row(flow="other", second=99, arrivals=1))
    (line,) = tally.operator_lines(now_s=100, flow="shop")
    assert 1.0 == line.in_per_s
    assert [] == tally.operator_lines(now_s=100 + 2 * WINDOW_S)


def test_a_silent_host_is_not_shown() -> None:
    """What it reported last says nothing about now."""
    tally = Tally()
    for name, second in (("old", 10), ("new", 100)):
        tally.add(
            HostMetrics(
                host=name,
                boot_id="1",
                second=second,
                cpu=0.5,
                memory_bytes=1,
                capacity=1.0,
                operators=1,
                loop_delay_ms=NONE,
                loop_delay_ms_max=0.0,
                clock_offset_ms=0.0,
            )
        )
    assert ["new"] == [line.host for line in tally.host_lines(now_s=101)]
