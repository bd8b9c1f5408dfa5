"""Side: a host whose polls are limited and not limited, in turn, and which tells what each turn took."""

import atexit
import sys
from pathlib import Path

from services.host.main import main
from services.host.meter import Meter
from services.lab.dataplane.sides.limited_host import limit_polls
from services.lab.dataplane.turns import Turns


def count(turns: Turns) -> None:
    """Let hosts tell of what they have done."""
    finish = Meter.finish

    def finished(meter: Meter, records: int) -> None:
        finish(meter, records)
        turns.done(records)

    Meter.finish = finished  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    most, file = int(sys.argv.pop(1)), Path(sys.argv.pop(1))
    turns = Turns(most)
    atexit.register(turns.write, file)
    limit_polls(turns.records_max)
    count(turns)
    main()
