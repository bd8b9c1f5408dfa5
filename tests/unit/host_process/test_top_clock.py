"""`stigmergy top` goes by the broker's time, not by that of the machine on which it is given."""

from typing import Any

import pytest

from services.cli import top
from services.cli.tally import Tally
from topics import catalogue
from topics.messages import HostMetrics, Moments

NOW_MS = 1_700_000_100_500
"""By the broker."""


class Consumer:
    """The reports of one host, whose own clock is an hour late, on a broker that gets one each second."""

    def __init__(self, count: int) -> None:
        self.records = [Record(NOW_MS - 1_000 * ago) for ago in reversed(range(count))]

    def consume(self, _count: int, timeout: float) -> list[Any]:
        taken, self.records = self.records, []
        return taken


class Record:
    def __init__(self, appended_ms: int) -> None:
        self.appended_ms = appended_ms

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return catalogue.METRICS_HOSTS.name

    def offset(self) -> int:
        return 1

    def timestamp(self) -> tuple[int, int]:
        return 2, self.appended_ms

    def value(self) -> bytes:
        row = HostMetrics(
            host="a",
            boot_id="1",
            second=self.appended_ms // 1_000 - 3_600,
            cpu=0.5,
            memory_bytes=1,
            capacity=1.0,
            operators=2,
            loop_delay_ms=Moments(0, 0.0, 0.0),
            loop_delay_ms_max=0.0,
            clock_offset_ms=0.0,
        )
        return catalogue.METRICS_HOSTS.codec.encode(row, topic=catalogue.METRICS_HOSTS.name)


@pytest.mark.parametrize("ahead_s", [-3_600, 0, 3_600])
def test_rows_are_judged_by_when_the_broker_got_them(monkeypatch: pytest.MonkeyPatch, ahead_s: int) -> None:
    """A laptop six seconds ahead saw nothing at all, one that is late saw what had long ended."""
    true_s = top.time.time
    monkeypatch.setattr(top.time, "time", lambda: true_s() + ahead_s)
    clock, tally = top.AppendClock(NOW_MS - 9_000), Tally()
    consumer: Any = Consumer(3)
    top._take(consumer, tally, clock, for_s=0.01)
    assert NOW_MS // 1_000 == clock.now_s
    assert ["a"] == [line.host for line in tally.host_lines(now_s=clock.now_s)]


def test_time_goes_on_when_nobody_reports_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the last rows of a cluster that died would stay on the screen for ever."""
    now_s = 50.0
    monkeypatch.setattr(top.time, "monotonic", lambda: now_s)
    clock = top.AppendClock(NOW_MS)
    now_s += 7.0
    assert NOW_MS // 1_000 + 7 == clock.now_s
    clock.heard(NOW_MS - 20_000)
    assert NOW_MS // 1_000 + 7 == clock.now_s, "what comes from another partition may be older"
    clock.heard(NOW_MS + 9_000)
    assert NOW_MS // 1_000 + 9 == clock.now_s
