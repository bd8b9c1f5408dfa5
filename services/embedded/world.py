"""A world: regions with hosts and brokers, and how far they are from each other. Plain data; `world_file` reads it.

One machine plays the whole world: every way between two regions leads through a proxy (`links`) that takes the time of
half a round trip each way and lets through no more than the way's bandwidth.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

BYTES_PER_MS_PER_MBIT = 125.0


@dataclass(frozen=True, slots=True)
class WorldHost:
    """One host; without a capacity it measures its own."""

    name: str
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A place: the hosts in it, and whether a broker stands there."""

    name: str
    hosts: tuple[WorldHost, ...]
    broker: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """Ways are the same in both directions; `round_trips_ms` and `bandwidths_mbit` have each pair once, sorted."""

    name: str
    regions: tuple[Region, ...]
    round_trips_ms: dict[tuple[str, str], float]
    bandwidths_mbit: dict[tuple[str, str], float] = field(default_factory=dict)
    replication: int = 1

    def __post_init__(self) -> None:
        assert self.brokers, "a world needs a broker"
        missing = {(a, b) for a, b in self.pairs()} - self.round_trips_ms.keys()
        assert not missing, f"no round trip between {sorted(missing)}"

    @property
    def brokers(self) -> tuple[str, ...]:
        """The regions with a broker, in the order of the file."""
        return tuple(region.name for region in self.regions if region.broker)

    @property
    def hosts(self) -> dict[str, tuple[WorldHost, str]]:
        """All hosts by name, with their region."""
        return {host.name: (host, region.name) for region in self.regions for host in region.hosts}

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each pair of regions once."""
        names = sorted(region.name for region in self.regions)
        for place, name in enumerate(names):
            yield from ((name, other) for other in names[place + 1 :])

    def round_trip_ms(self, a: str, b: str) -> float:
        """Between two regions; 0 within one."""
        return 0.0 if a == b else self.round_trips_ms[min(a, b), max(a, b)]

    def bandwidth_bytes_per_ms(self, a: str, b: str) -> float | None:
        """In each direction between two regions; None: as fast as the machine is."""
        mbit = self.bandwidths_mbit.get((min(a, b), max(a, b)))
        return None if mbit is None else mbit * BYTES_PER_MS_PER_MBIT

    def has_way(self, a: str, b: str) -> bool:
        """Whether there is anything to play between two regions."""
        return a != b and (self.round_trip_ms(a, b) > 0 or self.bandwidth_bytes_per_ms(a, b) is not None)
