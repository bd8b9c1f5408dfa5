"""Who lives, and who is lost, by what an instance hears."""

import pytest

from services.placement import watch
from services.placement.watch import Watch

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


def test_who_was_deaf_listens_again_before_it_judges(clock: Clock) -> None:
    """When a cut is mended, or the process woken, the first to be heard is not the only one that lives."""
    listener = Watch("nowhere", silent_s_max=5.0)
    clock.seconds(3, listener, "a", "b")
    clock.seconds(20, listener)
    clock.seconds(4, listener, "a")
    assert {} == listener.lost(HOSTS, now_ms=0)
    clock.seconds(2, listener, "a")
    assert ["b"] == list(listener.lost(HOSTS, now_ms=0))
