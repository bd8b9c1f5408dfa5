"""Transit-stub networks, with the parameters of GT-ITM.

A backbone of transit domains; each transit host has a few stub domains hanging from it; a few stubs have a second
way out. Each domain is a connected random graph. Delays are short inside a stub, longer towards and between transit
hosts. Hosts and links get their capacities from discrete classes (Ants section 4).

Reference: E. Zegura, K. Calvert, S. Bhattacharjee, How to model an internetwork, IEEE INFOCOM 1996.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from placement.chance import Chance
from placement.model import Host, Link, RoutedNetwork


@dataclass(frozen=True, slots=True)
class Span:
    """A range that delays are drawn from."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise ValueError(f"{self}: give a rising range above 0")

    def draw(self, rng: Chance) -> float:
        """A value from the range."""
        return rng.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class TransitStubParams:
    """GT-ITM's shape, and the classes of hosts and links."""

    transit_domains: int = 2
    transit_hosts: int = 4
    """Hosts of each transit domain."""
    stubs: int = 3
    """Stub domains of each transit host."""
    stub_hosts: int = 6
    """Mean number of hosts in a stub; each has up to two more or fewer."""
    transit_edge: float = 0.4
    stub_edge: float = 0.25
    """Chance of a link between any two hosts of a domain, beside the tree that connects it."""
    domain_edge: float = 0.5
    """Chance of a link between any two transit domains, beside the tree that connects them."""
    extra_uplink: float = 0.15
    """Chance that a stub has a second way out."""
    between_domains_ms: Span = Span(20.0, 50.0)
    in_transit_ms: Span = Span(8.0, 20.0)
    uplink_ms: Span = Span(3.0, 8.0)
    in_stub_ms: Span = Span(0.5, 3.0)
    capacities: tuple[float, ...] = (1.0, 2.0, 4.0)
    bandwidths_bytes_per_ms: tuple[float, ...] = (math.inf,)

    def __post_init__(self) -> None:
        for name in ("transit_domains", "transit_hosts", "stubs", "stub_hosts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least 1")
        for name in ("transit_edge", "stub_edge", "domain_edge", "extra_uplink"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a chance from 0 to 1")
        if not self.capacities or not self.bandwidths_bytes_per_ms:
            raise ValueError("give at least one class of capacities and one of bandwidths")

    @property
    def expected_hosts(self) -> int:
        """About how many hosts such a network has."""
        transit = self.transit_domains * self.transit_hosts
        return transit + transit * self.stubs * self.stub_hosts


def sized(hosts: int) -> TransitStubParams:
    """The usual shape with about that many hosts: more transit domains for larger networks."""
    domains = max(1, round(hosts / TransitStubParams(transit_domains=1).expected_hosts))
    per_domain = TransitStubParams(transit_domains=1)
    stub_hosts = max(1, round((hosts / (domains * per_domain.transit_hosts) - 1) / per_domain.stubs))
    return TransitStubParams(transit_domains=domains, stub_hosts=stub_hosts)


class _Builder:
    """Hosts and links as they grow."""

    def __init__(self, params: TransitStubParams, rng: Chance) -> None:
        self.params = params
        self.rng = rng
        self.hosts: list[Host] = []
        self.links: dict[tuple[str, str], Link] = {}

    def add_hosts(self, count: int, prefix: str, region: str) -> list[str]:
        names = [f"{prefix}{k}" for k in range(count)]
        self.hosts += [Host(name, self.rng.choice(self.params.capacities), region, region) for name in names]
        return names

    def link(self, a: str, b: str, delay: Span) -> None:
        pair = (min(a, b), max(a, b))
        if a != b and pair not in self.links:
            bandwidth = self.rng.choice(self.params.bandwidths_bytes_per_ms)
            self.links[pair] = Link(*pair, delay.draw(self.rng), bandwidth)

    def connect(self, names: Sequence[str], delay: Span, chance: float) -> None:
        """A random tree over the hosts, and more links by chance."""
        for k in range(1, len(names)):
            self.link(names[k], names[self.rng.randrange(k)], delay)
        for k, name in enumerate(names):
            for other in names[:k]:
                if self.rng.random() < chance:
                    self.link(name, other, delay)


def transit_stub(params: TransitStubParams, *, rng: Chance) -> RoutedNetwork:
    """A new network."""
    build = _Builder(params, rng)
    domains: list[list[str]] = []
    for d in range(params.transit_domains):
        names = build.add_hosts(params.transit_hosts, f"t{d}-", f"t{d}")
        build.connect(names, params.in_transit_ms, params.transit_edge)
        domains.append(names)
    for k in range(1, len(domains)):
        build.link(rng.choice(domains[k]), rng.choice(domains[rng.randrange(k)]), params.between_domains_ms)
        for other in domains[:k]:
            if rng.random() < params.domain_edge:
                build.link(rng.choice(domains[k]), rng.choice(other), params.between_domains_ms)
    transit = [name for domain in domains for name in domain]
    for s, uplink in enumerate(name for name in transit for _ in range(params.stubs)):
        spread = min(2, params.stub_hosts - 1)
        count = max(1, params.stub_hosts + rng.randint(-spread, spread))
        names = build.add_hosts(count, f"s{s}-", f"s{s}")
        build.connect(names, params.in_stub_ms, params.stub_edge)
        build.link(rng.choice(names), uplink, params.uplink_ms)
        if rng.random() < params.extra_uplink:
            build.link(rng.choice(names), rng.choice(transit), params.uplink_ms)
    return RoutedNetwork(tuple(build.hosts), tuple(build.links[pair] for pair in sorted(build.links)))


def stub_hosts(network: RoutedNetwork) -> list[str]:
    """Hosts at the edge of such a network: where producers and consumers are."""
    return [host.name for host in network.hosts if host.region.startswith("s")]
