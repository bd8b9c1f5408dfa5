"""Several processors for many seeds; Ctrl-C ends them all at once."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children


@contextmanager
def processors(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that ends with the first exception; Python's own first works off all that waits."""
    others = set(active_children())
    pool = ProcessPoolExecutor(max_workers=count, initializer=_leave_interrupts_to_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.terminate()
        raise
    pool.shutdown()


def _leave_interrupts_to_parent() -> None:
    """A terminal sends Ctrl-C to all; only one of them should tell of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
