"""A host as an ant sees it: what it can do and what it carries."""

from dataclasses import dataclass

from placement.queueing import Load


@dataclass(frozen=True, slots=True)
class HostView:
    """What a host tells of itself; it may have changed since."""

    host: str
    capacity: float
    load: Load
    links: tuple[tuple[str, float], ...] = ()
    """Its own neighbours and the delay to each."""
