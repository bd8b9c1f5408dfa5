"""Many runs, some on each ground, and their sum: what both commands of chaos do."""

import signal
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Summary(Protocol):
    """What came out so far."""

    @property
    def text(self) -> str: ...
    @property
    def bad(self) -> Sequence[object]: ...


def played(chosen: Sequence[T], size: int, some: Callable[[Sequence[T]], None], summary: Summary) -> int:
    """Lets `some` play `size` of them at a time; then a new broker: the supervisor forgives only so many deaths in a
    row, and old topics slow a restart down.

    The exit code is 0 if all were good, 1 if some were not, 130 if it was interrupted; the sum is shown in any case.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background
        signal.signal(number, signal.default_int_handler)
    try:
        for start in range(0, len(chosen), size):
            some(chosen[start : start + size])
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    finally:
        print(f"\n{summary.text}")
    return 1 if summary.bad else 0
