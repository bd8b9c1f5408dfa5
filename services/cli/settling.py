"""Waiting until what was written to the registry is so: every slot runs, or one has parked and says why."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.registry.snapshot import followed_registry
from services.registry.view import RegistryView, Slot
from topics import catalogue
from topics.messages import Placement, SegmentStatus

POLL_S = 0.2

OnProgress = Callable[[int, int], None]
"""Called with how many slots run, and of how many."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How it went: the status of each slot in its new epoch, None where none was told in time."""

    statuses: Mapping[Slot, SegmentStatus | None]

    @property
    def is_running(self) -> bool:
        return all(status is not None and status.state == "running" for status in self.statuses.values())

    @property
    def trouble(self) -> str:
        """Why it does not run, in a sentence."""
        for (segment, partition), status in self.statuses.items():
            if status is not None and status.state == "parked":
                return f"{segment}/{partition} is parked on {status.host}: {status.reason}"
        silent = [f"{segment}/{partition}" for (segment, partition), status in self.statuses.items() if status is None]
        return f"no host has taken {', '.join(silent)}" if silent else "it still recovers"


def wait_running(
    bootstrap: str, placements: Mapping[Slot, Placement], *, timeout_s: float, on_progress: OnProgress
) -> Settled:
    """Returns when all run or one has parked, or after the time is up."""
    deadline_s = time.monotonic() + timeout_s
    with followed_registry(bootstrap, catalogue.SEGMENTS_STATUS) as registry:
        while True:
            settled = Settled(_statuses(registry.read(), placements))
            states = [status.state if status is not None else "" for status in settled.statuses.values()]
            on_progress(states.count("running"), len(states))
            if settled.is_running or "parked" in states or time.monotonic() > deadline_s:
                return settled
            time.sleep(POLL_S)


def _statuses(view: RegistryView, placements: Mapping[Slot, Placement]) -> dict[Slot, SegmentStatus | None]:
    return {
        slot: status if (status := view.statuses.get(slot)) is not None and status.epoch >= placed.epoch else None
        for slot, placed in placements.items()
    }
