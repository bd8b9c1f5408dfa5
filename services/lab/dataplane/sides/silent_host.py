"""Side: a host that measures nothing and reports no measurements, to see what those cost."""

import asyncio
from collections.abc import Sequence

from services.host import memory
from services.host.fetch import Record
from services.host.main import main
from services.host.meter import Meter
from services.host.reports import Reports
from services.host.writer import Written


class SilentMeter(Meter):
    """Takes everything and keeps nothing."""

    def fetched(self, records: Sequence[Record], *, now_ms: float) -> None:
        pass

    def begun(self) -> None:
        pass

    def resumed(self) -> None:
        pass

    def probe(self, name: str, came_in: int, went_out: int, now_s: float | None = None) -> None:
        pass

    def finished(self, latency_ms: float, written: Written | None = None, *, is_hidden: bool = False) -> None:
        pass


async def never(_reports: Reports) -> None:
    """Takes the place of the loop that publishes measurements."""
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    memory.Meter = SilentMeter  # type: ignore[misc]
    Reports._measure = never  # type: ignore[method-assign, assignment]
    main()
