"""What the supervisor needs to know of a process, as plain data. Adding a service to `up` means adding one of these."""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from services.embedded.lifecycle import RestartPolicy
from services.embedded.probes import Probe


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process: how to run it, when it is ready, what must be ready before it, and what to do when it ends."""

    name: str
    command: tuple[str, ...]
    ready: Probe
    address: str
    """Where its users reach it."""
    log: Path
    """What it prints; the last lines are shown when it does not start."""
    more_logs: tuple[Path, ...] = ()
    """Files that it writes itself, shown too."""
    after: tuple[str, ...] = ()
    """Names of processes that must be ready before it starts, and that are stopped after it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    restart: RestartPolicy = field(default_factory=RestartPolicy)
    start_timeout_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 10.0
    is_awaited: bool = True
    """Whether the stack is ready only when this is."""

    @property
    def logs(self) -> tuple[Path, ...]:
        """All files that tell what it did."""
        return (self.log, *self.more_logs)


def stop_layers(processes: Sequence[Process]) -> list[list[str]]:
    """The names in the order of stopping: each layer at once, and nothing before what depends on it."""
    left = {process.name: process for process in processes}
    layers = []
    while left:
        needed = {name for process in left.values() for name in process.after}
        layer = [name for name in left if name not in needed]
        assert layer, f"processes wait for each other: {sorted(left)}"
        layers.append(layer)
        for name in layer:
            del left[name]
    return layers
