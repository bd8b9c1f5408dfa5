"""Damage: which hosts and links of a simulated network are dead, since when, and what is left of the network."""

import math
from dataclasses import replace

from placement.model import Network, RoutedNetwork
from placement.queueing import Load


class Damage:
    """To one network, which was whole once."""

    def __init__(self, network: Network, wire_background: tuple[Load, ...] = ()) -> None:
        self._whole_network = network
        self._wire_background = wire_background
        self._links: set[tuple[str, str]] = set()
        self._died_ms: dict[str, float] = {}
        self._changed_ms = -math.inf
        self.hosts: set[str] = set()
        """Hosts that are dead now."""

    @property
    def none(self) -> bool:
        """Whether nothing is dead now."""
        return not self.hosts and not self._links

    def unharmed_ms(self, now_ms: float) -> float:
        """How long nothing has been dead; 0 while something is."""
        return now_ms - self._changed_ms if self.none else 0.0

    def died_since(self, since_ms: float) -> frozenset[str]:
        """Hosts that died since then; they may be back, empty."""
        return frozenset(host for host, died_ms in self._died_ms.items() if died_ms >= since_ms)

    def lose_host(self, host: str, *, now_ms: float) -> None:
        """A host dies."""
        self.hosts.add(host)
        self._died_ms[host] = self._changed_ms = now_ms

    def return_host(self, host: str, *, now_ms: float) -> None:
        """A host lives again."""
        self.hosts.discard(host)
        self._changed_ms = now_ms

    def lose_link(self, a: str, b: str, *, now_ms: float) -> None:
        """A link dies, in both directions."""
        self._links.add((min(a, b), max(a, b)))
        self._changed_ms = now_ms

    def return_link(self, a: str, b: str, *, now_ms: float) -> None:
        """A link works again."""
        self._links.discard((min(a, b), max(a, b)))
        self._changed_ms = now_ms

    def change_link(self, a: str, b: str, delay_ms: float) -> None:
        """A link of a routed network takes another time from now on, alive or dead."""
        whole = self._whole_network
        assert isinstance(whole, RoutedNetwork), "an overlay has delays and no links"
        ends = {a, b}
        links = tuple(replace(link, delay_ms=delay_ms) if {link.a, link.b} == ends else link for link in whole.links)
        self._whole_network = replace(whole, links=links)

    def left(self) -> tuple[Network, tuple[Load, ...]]:
        """The network without what is dead, and the foreign traffic on its wires.

        A network without some links numbers its wires anew.
        """
        whole, now = self._whole_network, self._whole_network.without(frozenset(self.hosts), frozenset(self._links))
        if not isinstance(whole, RoutedNetwork) or not isinstance(now, RoutedNetwork) or not self._wire_background:
            return now, self._wire_background
        before = dict(zip(whole.wire_ends, self._wire_background, strict=True))
        return now, tuple(before[ends] for ends in now.wire_ends)
