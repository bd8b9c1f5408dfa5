"""What a running stack writes down for others to read: `stack.json` in its home."""

from pathlib import Path

import msgspec

from services.embedded.lifecycle import State
from services.embedded.probes import Probe
from services.settings import SILENT_S


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One process as the supervisor sees it. `born_at_s` tells it from a later process with the same id."""

    name: str
    state: State
    address: str
    log: str
    ready: Probe
    pid: int | None = None
    born_at_s: float | None = None
    restarts: int = 0
    is_awaited: bool = True


class WayRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What lies between two regions of a world."""

    between: tuple[str, str]
    round_trip_ms: float
    bandwidth_mbit: float | None = None


class WorldRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The world that a stack plays: the hosts of each region, which regions have a broker, and all ways.

    `bootstraps`: where clients of a region reach the brokers.
    """

    name: str
    regions: dict[str, tuple[str, ...]]
    brokers: tuple[str, ...]
    ways: tuple[WayRecord, ...]
    bootstraps: dict[str, str]


class StackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The whole stack. `error` says why it is not running, when its start failed.

    `silent_s`: after so long without a report its hosts are lost; commands judge by the same.
    """

    pid: int
    bootstrap: str
    redis_url: str
    processes: tuple[ProcessRecord, ...] = ()
    ready: bool = False
    error: str | None = None
    world: WorldRecord | None = None
    silent_s: float = SILENT_S


def write_record(path: Path, record: StackRecord) -> None:
    """Writes the record whole: a reader sees the one before or this one, never a part. It may hold credentials."""
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2))
    part.replace(path)


def read_record(path: Path) -> StackRecord | None:
    """The last record, or None if there is none that this version can read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=StackRecord)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
