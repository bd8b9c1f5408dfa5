"""Side: a host that counts the processor time that it measures and reports with, and writes its share to a file.

The share is of all processor time between the first batch and the last, so that neither start nor end dilutes it.
"""

import atexit
import functools
import sys
import time
import types
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

from services.host.main import main
from services.host.meter import Meter
from services.host.reports import Reports

ON_THE_WAY = ("fetched", "begun", "resumed", "probe", "finished", "committed", "_landed")
"""What a batch calls."""


class Account:
    """`spent_s` on measuring; `first_s` and `last_s`: the process's time at the first and the last batch."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self.first_s: float | None = None
        self.last_s = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, on the account."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            begun_s = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent_s += time.thread_time() - begun_s
                self.last_s = time.process_time()
                if self.first_s is None:
                    self.spent_s, self.first_s = 0.0, self.last_s

        return called

    def timed_steps(self, function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Any]:
        """The same coroutine function, with every step of it on the account, and no wait."""

        @types.coroutine
        def stepped(*args: Any) -> Generator[Any, Any, None]:
            coroutine = function(*args)
            step = functools.partial(coroutine.send, None)
            while True:
                begun_s = time.thread_time()
                try:
                    awaited = step()
                except StopIteration:
                    return
                finally:
                    self.spent_s += time.thread_time() - begun_s
                try:
                    step = functools.partial(coroutine.send, (yield awaited))
                except BaseException as thrown:  # noqa: BLE001 - it goes on into the coroutine
                    step = functools.partial(coroutine.throw, thrown)

        return stepped

    def write(self, file: Path) -> None:
        """The share, if there was a batch."""
        if self.first_s is not None and self.last_s > self.first_s:
            file.write_text(str(self.spent_s / (self.last_s - self.first_s)))


if __name__ == "__main__":
    account = Account()
    atexit.register(account.write, Path(sys.argv.pop(1)))
    for name in ON_THE_WAY:
        setattr(Meter, name, account.timed(getattr(Meter, name)))
    Reports._measure = account.timed_steps(Reports._measure)  # type: ignore[method-assign]
    main()
