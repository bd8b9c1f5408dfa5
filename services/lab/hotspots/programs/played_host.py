"""A host of the bench: `played_host.py reacting|foreseeing`, then a host's options.

Each record takes SERVICE_MS of the host's one processor, which is played (`processor`), and measured as if it had
worked. All else is a host as it is shipped. One that reacts hears of no forecast: of rates it knows what was measured,
of hot spots those that are there.
"""

import sys
import time

from services.host import main as host
from services.host import memory, segment
from services.host.cell import service
from services.host.cell.leaders import Leaders
from services.host.inbox import FetchedBlock, joined
from services.host.meter import Meter
from services.host.task import Task
from services.lab.hotspots.flows import DEAR, SERVICE_MS
from services.lab.hotspots.processor import Processor
from topics.messages import ForecastModel, HotSpotModel, Model

PORTION = 4
"""Records for which a task asks at a time."""
PROCESSOR = Processor()


class PlayedTask(Task):
    """A task that has to wait for its host's processor; in between it commits and stops, as with a slow function."""

    async def _work_off(self, blocks: list[FetchedBlock]) -> None:
        input_name, records = blocks[0].input_name, joined(blocks)
        portions = [records[begin : begin + PORTION] for begin in range(0, len(records), PORTION)]
        turns = (PROCESSOR.turn(each[0].timestamp, len(each) * SERVICE_MS / 1e3) for each in portions)
        turn = next(turns)
        for portion in portions:
            if self._inbox.is_stopped:
                turn.cancel()
                return  # the next owner does it
            await turn
            turn = next(turns, turn)  # before it is the turn of others
            await self._process(input_name, portion)
            if self._is_dirty and self._commit_times.is_due(now_s=time.monotonic()):
                await self._commit()


class PlayedMeter(Meter):
    """Counts the time on the processor to the operator that is dear."""

    def probe(self, name: str, came_in: int, went_out: int, now_s: float | None = None) -> None:
        """As if it had been at work for so long."""
        if name == DEAR:
            self._mark_s -= came_in * SERVICE_MS / 1e3
        super().probe(name, came_in, went_out, now_s)


class ReactingLeaders(Leaders):
    """Leaders that are told nothing that lies ahead."""

    def heard_model(self, model: Model) -> None:
        """What is, they hear."""
        if not is_ahead(model):
            super().heard_model(model)


def is_ahead(model: Model) -> bool:
    """Whether a model is of what is to come; of a bound that is broken it says 0 seconds, or None once it is kept."""
    return isinstance(model.body, ForecastModel) or (isinstance(model.body, HotSpotModel) and bool(model.body.in_s))


if __name__ == "__main__":
    how = sys.argv.pop(1)
    assert how in ("reacting", "foreseeing"), how
    segment.Task, memory.Meter = PlayedTask, PlayedMeter  # type: ignore[misc]
    if how == "reacting":
        service.Leaders = ReactingLeaders  # type: ignore[misc]
    host.main()
