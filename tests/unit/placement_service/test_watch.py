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


def watch_of() -> Watch:
    return Watch("nowhere", silent_s_max=5.0, return_s_max=30.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_silent_host_is_lost_while_others_are_heard(clock: Clock) -> None:
    """After its time, and not before."""
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    clock.seconds(4, listener, "a")
    assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)
    clock.seconds(1, listener, "a")
    assert ["b"] == list(listener.lost(HOSTS, owners=HOSTS, now_ms=0))
    assert {"a"} == listener.live()


def test_who_hears_nobody_judges_nobody(clock: Clock) -> None:
    """An instance that is cut off would take every host for lost, and undo every move while it still may."""
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    clock.seconds(20, listener)
    assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)
    assert frozenset() == listener.live()


def test_who_ends_a_deaf_spell_is_spared_in_the_next_one(clock: Clock) -> None:
    """Two stalls of the listener in a row are no silence of those whom it has heard between them."""
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    clock.now_s += 3.0
    listener.heard(HOSTS)
    clock.now_s += 4.9
    listener.heard(["a"])
    clock.now_s += 0.2
    assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)


def test_who_was_deaf_listens_again_before_it_judges(clock: Clock) -> None:
    """When a cut is mended, or the process woken, the first to be heard is not the only one that lives."""
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    clock.seconds(20, listener)
    clock.seconds(4, listener, "a")
    assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)
    clock.seconds(2, listener, "a")
    assert ["b"] == list(listener.lost(HOSTS, owners=HOSTS, now_ms=0))


@pytest.mark.parametrize("every_s", [2.1, 2.6, 4.9])
def test_who_reports_seldom_does_not_keep_the_dead_alive(clock: Clock, every_s: float) -> None:
    """Each of its reports ends a silence of all, but not each is a cut that has been mended."""
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    for _ in range(4):
        clock.now_s += every_s
        listener.heard(["a"])
    assert ["b"] == list(listener.lost(HOSTS, owners=HOSTS, now_ms=0))


def test_cut_after_cut_nobody_is_lost_who_was_heard_in_between(clock: Clock) -> None:
    """The first to be heard again is not the only one that lives, the second time either."""
    listener = watch_of()
    for _ in range(3):
        clock.seconds(1, listener, "a", "b")
        clock.seconds(4, listener)
        clock.seconds(1, listener, "a")
        assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)


def test_what_is_no_report_is_skipped_and_the_next_report_is_heard(clock: Clock) -> None:
    """Anybody may write to the topic. One keyless record once ended the watch, and with it all care for lost hosts."""
    listener = watch_of()
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
    listener = watch_of()
    clock.seconds(3, listener, "a", "b")
    for offset in range(6):
        clock.seconds(1, listener)
        listener.read([SimpleNamespace(key=b"a", value=b"", offset=offset)])
    assert {} == listener.lost(HOSTS, owners=HOSTS, now_ms=0)


DOZEN = tuple("abcdefghijkl")


def test_who_boots_first_after_a_power_cut_is_not_the_only_one_that_lives(clock: Clock) -> None:
    """It got all that the others ran, by cold recovery; they came back seconds later, and leaders moved it all back."""
    listener = watch_of()
    clock.seconds(3, listener, *DOZEN)
    clock.seconds(60, listener)
    for seconds, hosts in [(20, "a"), (3, "abcde"), (4, "abcdef"), (6, "abcdefghijkl")]:
        clock.seconds(seconds, listener, *hosts)
        assert {} == listener.lost(DOZEN, owners=DOZEN, now_ms=0)


def test_when_half_of_the_hosts_are_back_the_others_have_their_usual_time(clock: Clock) -> None:
    """What one host gets is then no more than it gets when the other half dies."""
    listener = watch_of()
    clock.seconds(3, listener, *DOZEN)
    clock.seconds(60, listener)
    clock.seconds(20, listener, *"abc")
    clock.seconds(5, listener, *"abcdef")
    assert {} == listener.lost(DOZEN, owners=DOZEN, now_ms=0)
    clock.seconds(1, listener, *"abcdef")
    assert dict.fromkeys("ghijkl", 0) == listener.lost(DOZEN, owners=DOZEN, now_ms=0), "known from this moment on"


@pytest.mark.parametrize("watches_before", [True, False], ids=["it watched before", "it was started with the hosts"])
def test_who_does_not_return_in_time_is_lost_however_few_are_back(clock: Clock, watches_before: bool) -> None:
    """What the others ran must not wait for a machine that will never boot."""
    listener = watch_of()
    if watches_before:
        clock.seconds(3, listener, *DOZEN)
        clock.seconds(60, listener)
    clock.seconds(34, listener, "a")
    assert {} == listener.lost(DOZEN, owners=DOZEN, now_ms=0)
    clock.seconds(2, listener, "a")
    assert set(DOZEN) - {"a"} == set(listener.lost(DOZEN, owners=DOZEN, now_ms=0))


def test_who_came_back_and_died_is_lost_as_soon_as_ever(clock: Clock) -> None:
    """Only who was not heard since may still be on its way."""
    listener = watch_of()
    clock.seconds(10, listener)
    clock.seconds(3, listener, "a", "b")
    clock.seconds(5, listener, "a")
    assert ["b"] == list(listener.lost(DOZEN, owners=DOZEN, now_ms=0))


def test_where_all_but_one_are_heard_at_once_that_one_gets_no_longer_time(clock: Clock) -> None:
    """An instance that was started, or cut off, among hosts that lived on has no power cut to wait for."""
    listener = watch_of()
    clock.seconds(3, listener, *DOZEN)
    clock.seconds(20, listener)
    clock.seconds(6, listener, *DOZEN[1:])
    assert ["a"] == list(listener.lost(DOZEN, owners=DOZEN, now_ms=0))


def test_who_owns_nothing_is_not_waited_for(clock: Clock) -> None:
    """Hosts that went for good stay registered; what runs must not wait for them after each start of an instance."""
    listener = watch_of()
    clock.seconds(5, listener, "a", "b")
    assert {} == listener.lost(DOZEN, owners=("a", "b", "c"), now_ms=0)
    clock.seconds(1, listener, "a", "b")
    assert "c" in listener.lost(DOZEN, owners=("a", "b", "c"), now_ms=0)
