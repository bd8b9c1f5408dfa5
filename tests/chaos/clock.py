"""A wall clock that others can move: a host's `time.time` and `time.time_ns` with an offset kept in a small file.

The product reads the wall clock by these two functions alone (`grep time.time`), so replacing them in a host's process,
before anything else is imported, is what a jump of the machine's clock does to it. The monotonic clock does not jump on
a real machine either.
"""

import mmap
import struct
import time
from pathlib import Path

_OFFSET_NS = struct.Struct("q")


def create(path: Path) -> None:
    """A clock file that says the true time."""
    path.write_bytes(_OFFSET_NS.pack(0))


def jump(path: Path, offset_s: int) -> None:
    """From now on the clock is off by so many seconds."""
    with path.open("r+b") as file:
        file.write(_OFFSET_NS.pack(offset_s * 1_000_000_000))


def install(path: Path) -> None:
    """Let this process live by the clock of this file."""
    true_ns = time.time_ns
    with path.open("r+b") as file:
        offset = mmap.mmap(file.fileno(), _OFFSET_NS.size)

    def time_ns() -> int:
        return true_ns() + int(_OFFSET_NS.unpack_from(offset)[0])

    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9
