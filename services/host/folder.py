"""A folder for one run of a host. What hosts left behind that ended without a word is removed when another one starts.

A folder belongs to whoever holds the lock in it, which the kernel takes away from a process that dies.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "stig-host-"


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """A new folder in this one; it is gone afterwards."""
    parent.mkdir(parents=True, exist_ok=True)
    _tidy(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _tidy(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            with (folder / "lock").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # somebody holds it, or is about to
            continue
