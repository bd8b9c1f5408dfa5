"""The times that hosts tell each other: the broker's, whatever their own clocks say."""

import asyncio

from services.host.reports import Identity, Reports
from services.process.clock import BrokerClock
from services.process.ending import end
from tests.unit.host.stand_ins import Publisher
from topics import catalogue
from topics.messages import StandbyStatus

BROKER_MS = 1_700_000_000_000.0
HOUR_MS = 3_600_000.0
PATIENCE_S = 20.0
SLOT = ("shop.large", 0)


def reports(*, ahead_ms: float, publisher: Publisher | None = None) -> tuple[Reports, float]:
    """Those of a host whose clock is so far ahead of the broker's, and its clock."""
    local_ms = BROKER_MS + ahead_ms
    clock = BrokerClock(local=lambda: local_ms)
    clock.exchanged(sent_ms=local_ms, stamped_ms=BROKER_MS - 0.5, answered_ms=local_ms)
    return Reports(Identity("a", "1", 1.0), publisher or Publisher(), clock), local_ms  # type: ignore[arg-type]


def test_a_pause_is_told_right_whatever_the_clocks_of_the_two_hosts_say() -> None:
    """From the last record at one host to the first at the other: an hour of skew is no pause, and hides none."""
    before, before_ms = reports(ahead_ms=HOUR_MS)
    after, _ = reports(ahead_ms=-HOUR_MS)
    word = before.handover(SLOT, 1, stopped_local_ms=int(before_ms) - 70)
    after.state(SLOT, 2, "running", None)
    assert word.stopped_ms is not None
    assert 70 == after.standings[SLOT].since_ms - word.stopped_ms
    assert BROKER_MS == word.drained_ms


def test_that_a_standby_is_ready_is_told_by_the_brokers_clock() -> None:
    """A move waits for a word that is newer than its beginning: a host whose clock is late could never give one."""

    async def word() -> StandbyStatus:
        publisher = Publisher()
        telling, _ = reports(ahead_ms=-HOUR_MS, publisher=publisher)
        running = asyncio.create_task(telling.run())
        telling.standby(*SLOT, is_ready=True, lag=0, entries=1)
        async with asyncio.timeout(PATIENCE_S):
            while not publisher.sent.get(catalogue.STANDBYS.name):
                await asyncio.sleep(0.01)
        await end([running])
        told: StandbyStatus = publisher.sent[catalogue.STANDBYS.name][0]
        return told

    assert BROKER_MS == asyncio.run(word()).reported_ms
