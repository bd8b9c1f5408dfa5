"""Who lives, and who is lost, by what an instance hears."""

from types import SimpleNamespace

import pytest

from services.placement import watch
from services.placement.watch import Watch
from topics.catalogue import METRICS_HOSTS
from topics.messages import HostMetrics, Moments

HOSTS = ("a", "b")


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1_000.0
        monkeypatch.setattr(watch.time, "monotonic", lambda: self.now_s)

    def seconds(self, count: int, listener: Watch, *hosts: str) -> None:
        """So many seconds, in each of which these hosts report."""
        for _ in range(count):
            self.now_s += 1.0
            if hosts:
                listener.heard(hosts)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_silent_host_is_lost_while_others_are_heard(clock: Clock) -> None:
    """After its time, and not before."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    clock.seconds(4, listener, "a")
    assert {} == listener.lost(HOSTS, now_ms=0)
    clock.seconds(1, listener, "a")
    assert ["b"] == list(listener.lost(HOSTS, now_ms=0))
    assert {"a"} == listener.live()


def test_who_hears_nobody_judges_nobody(clock: Clock) -> None:
    """An instance that is cut off would take every host for lost, and undo every move while it still may."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    clock.seconds(20, listener)
    assert {} == listener.lost(HOSTS, now_ms=0)
    assert frozenset() == listener.live()


def test_who_ends_a_deaf_spell_is_spared_in_the_next_one(clock: Clock) -> None:
    """Two stalls of the listener in a row are no silence of those whom it has heard between them."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    clock.now_s += 3.0
    listener.heard(HOSTS)
    clock.now_s += 4.9
    listener.heard(["a"])
    clock.now_s += 0.2
    assert {} == listener.lost(HOSTS, now_ms=0)


def test_who_was_deaf_listens_again_before_it_judges(clock: Clock) -> None:
    """When a cut is mended, or the process woken, the first to be heard is not the only one that lives."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    clock.seconds(20, listener)
    clock.seconds(4, listener, "a")
    assert {} == listener.lost(HOSTS, now_ms=0)
    clock.seconds(2, listener, "a")
    assert ["b"] == list(listener.lost(HOSTS, now_ms=0))


@pytest.mark.parametrize("every_s", [2.1, 2.6, 4.9])
def test_who_reports_seldom_does_not_keep_the_dead_alive(clock: Clock, every_s: float) -> None:
    """Each of its reports ends a silence of all, but not each is a cut that has been mended."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    for _ in range(4):
        clock.now_s += every_s
        listener.heard(["a"])
    assert ["b"] == list(listener.lost(HOSTS, now_ms=0))


def test_cut_after_cut_nobody_is_lost_who_was_heard_in_between(clock: Clock) -> None:
    """The first to be heard again is not the only one that lives, the second time either."""
    listener = Watch("nowhere", silent_s_max=5.0)
    for _ in range(3):
        clock.seconds(1, listener, "a", "b")
        clock.seconds(4, listener)
        clock.seconds(1, listener, "a")
        assert {} == listener.lost(HOSTS, now_ms=0)


def test_what_is_no_report_is_skipped_and_the_next_report_is_heard(clock: Clock) -> None:
    """Anybody may write to the topic. One keyless record once ended the watch, and with it all care for lost hosts."""
    listener = Watch("nowhere", silent_s_max=5.0)
    report = HostMetrics(
        host="a",
        boot_id="1",
        second=1,
        cpu=0.1,
        memory_bytes=1,
        capacity=1.0,
        operators=0,
        loop_delay_ms=Moments(0, 0.0, 0.0),
        loop_delay_ms_max=0.0,
        clock_offset_ms=0.0,
    )
    listener.read(
        [
            SimpleNamespace(key=None, value=None, offset=0),
            SimpleNamespace(key=None, value=b"{}", offset=1),
            SimpleNamespace(key=b"ghost", value=b"\xff", offset=2),
            SimpleNamespace(key=b"a", value=METRICS_HOSTS.codec.encode(report, topic=METRICS_HOSTS.name), offset=3),
        ]
    )
    assert {"a"} == listener.live()
    assert 3 == listener.garbage


def test_garbage_alone_is_nobody_heard(clock: Clock) -> None:
    """Else somebody's garbage would make a deaf instance judge."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    for offset in range(6):
        clock.seconds(1, listener)
        listener.read([SimpleNamespace(key=b"a", value=b"", offset=offset)])
    assert {} == listener.lost(HOSTS, now_ms=0)
