"""Probes: how two hosts learn how far apart they are. No clocks are compared: each host reads its own alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks a host for an echo."""

    serial: int


@dataclass(frozen=True, slots=True)
class Echo:
    """The answer to a probe, and for how long it lay at the host that answers: that is no part of the way."""

    serial: int
    held_ms: float
