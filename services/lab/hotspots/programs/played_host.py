"""A host of the bench: `played_host.py reacting|foreseeing`, then a host's options.

It is as slow as its capacity says of a machine of capacity 1, whatever this one is: how fast a machine is, is found
anew at each start, and on a busy one differs by half, so that two runs would not be alike. And one that reacts hears of
no forecast: of rates it knows what was measured, of hot spots those that are there.
"""

import sys

from services.host import main as host
from services.host.cell import service
from services.host.cell.leaders import Leaders
from services.lab.hotspots.crier import is_cried
from topics.messages import ForecastModel, HotSpotModel, Model

MACHINE = 1.0
"""Its capacity."""


class ReactingLeaders(Leaders):
    """Leaders that are told nothing that lies ahead."""

    def heard_model(self, model: Model) -> None:
        """What is, they hear."""
        if not is_ahead(model):
            super().heard_model(model)


def is_ahead(model: Model) -> bool:
    """Whether a model is of what is to come."""
    return isinstance(model.body, ForecastModel) or (isinstance(model.body, HotSpotModel) and not is_cried(model))


if __name__ == "__main__":
    how = sys.argv.pop(1)
    assert how in ("reacting", "foreseeing"), how
    host.calibrate = lambda: MACHINE
    if how == "reacting":
        service.Leaders = ReactingLeaders  # type: ignore[misc]
    host.main()
