"""Which hosts live, asked by a command whose clock may be wrong."""

import pytest

from services.registry import liveness
from services.registry.liveness import live_hosts
from tests.unit.registry.one_topic import OneTopic
from topics.catalogue import METRICS_HOSTS
from topics.messages import HostMetrics, Moments

LONG_AGO_MS = 1_000_000
"""By any clock that a machine has today."""


def report(host: str) -> HostMetrics:
    return HostMetrics(
        host=host,
        boot_id="1",
        second=1,
        cpu=0.5,
        memory_bytes=1,
        capacity=1.0,
        operators=0,
        loop_delay_ms=Moments(0, 0.0, 0.0),
        loop_delay_ms_max=0.0,
        clock_offset_ms=0.0,
    )


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> OneTopic:
    topic = OneTopic(METRICS_HOSTS)
    topic.stand_in(liveness, monkeypatch)
    return topic


def test_a_wrong_clock_takes_nobody_for_dead_and_no_dead_host_for_alive(reports: OneTopic) -> None:
    """On a laptop five seconds ahead every host of the cluster was silent."""
    reports.log = [
        (report("gone"), LONG_AGO_MS - 5_001),
        (report("late"), LONG_AGO_MS - 4_000),
        (None, LONG_AGO_MS - 10),
    ]
    reports.later = [(report("a"), LONG_AGO_MS)]
    assert ["a", "late"] == sorted(live_hosts("nowhere", silent_s=5.0))


def test_how_long_a_host_may_be_silent_is_the_clusters_setting(reports: OneTopic) -> None:
    reports.log = [(report("slow"), LONG_AGO_MS - 9_000)]
    reports.later = [(report("a"), LONG_AGO_MS)]
    assert ["a", "slow"] == sorted(live_hosts("nowhere", silent_s=10.0))


def test_where_no_report_comes_nobody_lives(reports: OneTopic) -> None:
    """However new the last one is by the clock of whoever asks."""
    reports.log = [(report("a"), LONG_AGO_MS)]
    assert {} == live_hosts("nowhere", silent_s=0.05)
    reports.log = []
    assert {} == live_hosts("nowhere", silent_s=60.0), "and who never heard of any need not wait"
