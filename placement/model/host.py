"""A host: one process on one machine that runs tasks."""

import math
from dataclasses import dataclass

from placement.model.errors import require


@dataclass(frozen=True, slots=True)
class Host:
    """Capacity is in VWU per millisecond; a host of capacity 0 takes no task but still passes messages on."""

    name: str
    capacity: float = 1.0
    failure_class: str = ""
    """Hosts of the same class fail alike: a rack, a zone, a machine type."""
    region: str = ""

    def __post_init__(self) -> None:
        require(bool(self.name), "a host needs a name")
        require(
            math.isfinite(self.capacity) and self.capacity >= 0,
            f"host {self.name}: capacity is {self.capacity}; it must be 0 or more VWU/ms",
        )


def index_hosts(hosts: tuple[Host, ...]) -> dict[str, int]:
    """Name to index; names must be unique."""
    index = {host.name: place for place, host in enumerate(hosts)}
    require(len(index) == len(hosts), "two hosts have the same name; host names must be unique")
    return index
