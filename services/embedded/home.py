"""The folder in which one stack keeps all it has, and the lock that lets only one supervisor use it.

The lock is the kernel's (flock): it ends with the process that holds it, also after kill -9. The lock file names its
holder; a name without a lock is what a crash left behind, and means nothing.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from services.embedded.errors import AlreadyRunningError, StackError

LOCK_PATIENCE_S = 1.0
"""`status` looks at the lock by taking it for a moment; `up` waits that long before it believes that it is taken."""
POLL_S = 0.05


class Holder(msgspec.Struct, frozen=True):
    """The process that holds the lock. `born_at_s` tells it from a later process with the same id."""

    pid: int
    born_at_s: float

    def lives(self) -> bool:
        """Whether it is still there."""
        return is_alive(self.pid, self.born_at_s)


@dataclass(frozen=True)
class Home:
    """Where things are in a home."""

    path: Path

    @property
    def lock(self) -> Path:
        """Held by the supervisor."""
        return self.path / "lock"

    @property
    def record(self) -> Path:
        """What runs: see record.py."""
        return self.path / "stack.json"

    @property
    def cluster(self) -> Path:
        """What stays the same over restarts: see cluster.py."""
        return self.path / "cluster.json"

    @property
    def links(self) -> Path:
        """The gates of a world: see links.py."""
        return self.path / "links.json"

    @property
    def key(self) -> Path:
        """The cluster's key, if the stack made one: see services/cluster_key.py."""
        return self.path / "cluster.key"

    @property
    def kafka(self) -> Path:
        """A folder for each broker."""
        return self.path / "kafka"

    @property
    def redis(self) -> Path:
        """The append-only file."""
        return self.path / "redis"

    @property
    def models(self) -> Path:
        """The checkpoint of the modelling service, and its scratch space."""
        return self.path / "models"

    @property
    def logs(self) -> Path:
        """What the processes say."""
        return self.path / "logs"

    def holder(self) -> Holder | None:
        """The supervisor that uses this home now, or None."""
        deadline_s = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                with self.lock.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    return None
            except FileNotFoundError:
                return None
            except BlockingIOError:
                holder = self._named_holder()
            if holder is not None and holder.lives():
                return holder
            if time.monotonic() > deadline_s:  # the lock is taken, but by nobody we could name
                raise StackError(f"{self.lock} is locked by an unknown process", f"see who with: fuser {self.lock}")
            time.sleep(POLL_S)

    def make(self) -> None:
        """Makes the folder, for its owner only: records, and the credentials of a Redis, are nobody else's affair."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileNotFoundError as fault:  # its parents are there, but take no folders, as in /proc
            raise StackError(f"{self.path} can't be made", "choose another --home") from fault

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock. Raises AlreadyRunningError when another process does."""
        self.make()
        descriptor = self._take_lock()
        try:
            holder = Holder(os.getpid(), psutil.Process().create_time())
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(holder), 0)
            yield
        finally:
            os.close(descriptor)

    def wipe(self) -> bool:
        """Removes all that a stack made here, and the folder if nothing else is in it. False: nothing was there."""
        if not any(path.exists() for path in (self.cluster, self.record, self.lock)):
            return False
        with self.locked():
            for folder in (self.kafka, self.redis, self.models, self.logs):
                shutil.rmtree(folder, ignore_errors=True)
            for file in (self.record, self.cluster, self.links, self.key, self.lock):
                file.with_suffix(".part").unlink(missing_ok=True)  # left when the disk was full
                file.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()
        return True

    def _take_lock(self) -> int:
        deadline_s = time.monotonic() + LOCK_PATIENCE_S
        while True:
            descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), os.stat(self.lock)):
                    return descriptor
            except (BlockingIOError, FileNotFoundError):  # taken, or removed by a wipe in the meantime
                pass
            os.close(descriptor)
            if time.monotonic() > deadline_s:
                holder = self._named_holder()
                who = f"process {holder.pid}" if holder is not None else "another process"
                raise AlreadyRunningError(
                    f"a stack already runs in {self.path} ({who})",
                    "see it with stigmergy status, stop it with stigmergy down, or give this one another --home",
                )
            time.sleep(POLL_S)

    def _named_holder(self) -> Holder | None:
        try:
            return msgspec.json.decode(self.lock.read_bytes(), type=Holder)
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def is_alive(pid: int, born_at_s: float) -> bool:
    """Whether this very process still runs (a zombie does not)."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - born_at_s) < 0.1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
