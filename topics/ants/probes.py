"""Probes: how two hosts learn how far apart they are and how their clocks differ (as NTP does)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks a host for an echo. Times are by the clock of whoever wrote them down."""

    serial: int
    sent_ms: float


@dataclass(frozen=True, slots=True)
class Echo:
    """The answer to a probe: when the probe left, when it came, when its echo left."""

    serial: int
    sent_ms: float
    heard_ms: float
    echoed_ms: float
