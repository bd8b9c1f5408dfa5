"""How a host tells that it follows a partition."""

import asyncio
import contextlib

from services.host.reports import Identity, Reports
from services.process.clock import BrokerClock
from tests.unit.host.stand_ins import Publisher
from topics import catalogue
from topics.messages import StandbyStatus

PATIENCE_S = 20.0


def test_what_is_said_again_is_said_as_of_now() -> None:
    """Who follows a partition without state looks at nothing any more; its word of an hour ago must not seem to be
    that of a process which is gone."""
    publisher, now_ms = Publisher(), 1_000_000.0

    async def run() -> None:
        nonlocal now_ms
        reports = Reports(Identity("a", "boot", 1.0), publisher, BrokerClock(local=lambda: now_ms))  # type: ignore[arg-type]
        reports.standby("shop.1", 0, is_ready=True, lag=0, entries=0)
        now_ms += 3_600_000
        telling = asyncio.create_task(reports.run())
        async with asyncio.timeout(PATIENCE_S):
            while not publisher.sent.get(catalogue.STANDBYS.name):
                await asyncio.sleep(0.01)
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling

    asyncio.run(run())
    last = publisher.sent[catalogue.STANDBYS.name][-1]
    assert isinstance(last, StandbyStatus)
    assert (True, 4_600_000) == (last.is_ready, last.reported_ms)
