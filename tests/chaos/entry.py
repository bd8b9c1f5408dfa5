"""`python -m tests.chaos.entry CLOCK BUG HOST-ARGUMENTS...`: a host whose clock can jump, with a planted bug or none.

Otherwise it is the product's own `python -m services.host`; only snapshots begin after fewer changes, so that a short
run has some, and SIGUSR1 makes it write down what all its tasks wait for.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.chaos import clock

SNAPSHOT_CHANGES_MIN = 150


def main(prepare: Callable[[], None] = lambda: None) -> None:
    """Entry of the process. `prepare` is called when its clock is set, before it begins."""
    clock_file, bug, *arguments = sys.argv[1:]
    clock.install(Path(clock_file))
    from services.host import main as host
    from services.host import snapshot
    from tests.chaos import planted

    snapshot.CHANGES_MIN = SNAPSHOT_CHANGES_MIN
    if bug in planted.BUGS:
        planted.BUGS[bug]()
    prepare()
    signal.signal(signal.SIGUSR1, lambda *_: [task.print_stack() for task in asyncio.all_tasks()])
    sys.argv[1:] = arguments
    host.main()


if __name__ == "__main__":
    main()
