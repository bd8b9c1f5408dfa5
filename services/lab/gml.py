"""Networks in GML, as the Internet Topology Zoo has them.

A link's delay is its `delay` attribute in milliseconds if it has one; else it follows from the positions of its
ends, at 200 km a millisecond; else it is 5 ms. Of two links between the same hosts the shorter counts. Hosts that are
not connected to the largest part of the network are left out.
"""

import math
import re
from dataclasses import dataclass, replace
from random import Random

from services.lab.matrices import LONGEST_MS, TopologyError

_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]]+')
_KM_PER_MS = 200.0
_UNKNOWN_MS = 5.0
_LEAST_MS = 0.05
_MOST_DEPTH = 20

_Block = list[tuple[str, "str | _Block"]]
"""What stands in brackets: keys, each with a word or with brackets of its own."""


@dataclass(frozen=True)
class GmlNetwork:
    """Hosts by name, and links with their delay."""

    names: tuple[str, ...]
    links: tuple[tuple[str, str, float], ...]
    guessed_links: int = 0
    """Of which neither a delay nor both positions are told."""
    left_out: int = 0
    """Hosts without a way to the largest part."""

    def part(self, most_hosts: int, *, rng: Random) -> "GmlNetwork":
        """So many hosts, grown along links from one that is drawn; all, if there are no more."""
        if len(self.names) <= most_hosts:
            return self
        near: dict[str, list[str]] = {name: [] for name in self.names}
        for a, b, _ in self.links:
            near[a].append(b)
            near[b].append(a)
        kept, border = set[str](), [rng.choice(self.names)]
        while len(kept) < most_hosts:
            host = border.pop(rng.randrange(len(border)))
            if host not in kept:
                kept.add(host)
                border += near[host]
        links = tuple(link for link in self.links if kept.issuperset(link[:2]))
        return replace(self, names=tuple(sorted(kept)), links=links)


def parse_gml(text: str, *, name: str) -> GmlNetwork:
    """Read a GML graph."""
    stripped = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    tokens = _TOKEN.findall(stripped)
    tree, at = _block(tokens, 0, name, depth=0)
    if at <= len(tokens):
        raise TopologyError(f"{name}: there is a ']' too many; each closes one '['")
    graphs = [value for key, value in tree if key == "graph" and isinstance(value, list)]
    if not graphs:
        raise TopologyError(f"{name}: no graph [...] in it; is it GML?")
    hosts: dict[str, _Block] = {}
    for entry in (entry for key, entry in graphs[0] if key == "node" and isinstance(entry, list)):
        host = _one(entry, "id", name)
        if host in hosts:
            raise TopologyError(f"{name}: two hosts have the id {host}; give each host an id of its own")
        hosts[host] = entry
    edges = [entry for key, entry in graphs[0] if key == "edge" and isinstance(entry, list)]
    if not hosts or not edges:
        raise TopologyError(f"{name}: it has {len(hosts)} hosts and {len(edges)} links; give at least some of both")
    label = {key: f"h{key}" for key in hosts}
    links: dict[tuple[str, str], float] = {}
    guessed = 0
    for edge in edges:
        a, b = _one(edge, "source", name), _one(edge, "target", name)
        if a not in hosts or b not in hosts:
            raise TopologyError(
                f"{name}: a link joins {a} and {b}, not both of them hosts; add the host or drop the link"
            )
        if a != b:
            pair = (min(label[a], label[b]), max(label[a], label[b]))
            delay_ms = _delay_ms(edge, hosts[a], hosts[b], name)
            guessed += delay_ms is None
            links[pair] = min(_UNKNOWN_MS if delay_ms is None else delay_ms, links.get(pair, math.inf))
    kept = _largest_part(set(label.values()), links)
    of_kept = tuple((a, b, delay) for (a, b), delay in sorted(links.items()) if a in kept)
    return GmlNetwork(tuple(sorted(kept)), of_kept, guessed, len(hosts) - len(kept))


def _block(tokens: list[str], at: int, name: str, *, depth: int) -> tuple[_Block, int]:
    """What stands up to the next closing bracket, and where to go on after it."""
    if depth > _MOST_DEPTH:
        raise TopologyError(f"{name}: brackets in brackets, {depth} deep; a graph of hosts and links needs three")
    found: _Block = []
    while at < len(tokens) and tokens[at] != "]":
        key = tokens[at]
        if at + 1 >= len(tokens):
            raise TopologyError(f"{name}: it ends after {key!r}; give a value after each key (is it GML?)")
        if tokens[at + 1] == "[":
            inner, at = _block(tokens, at + 2, name, depth=depth + 1)
            found.append((key, inner))
        else:
            found.append((key, tokens[at + 1].strip('"')))
            at += 2
    if depth and at >= len(tokens):
        raise TopologyError(f"{name}: a '[' is never closed; is the file cut off?")
    return found, at + 1


def _one(entry: _Block, wanted: str, name: str) -> str:
    value = next((value for key, value in entry if key == wanted and isinstance(value, str)), None)
    if value is None:
        raise TopologyError(
            f"{name}: a part of the graph has no {wanted!r}; give hosts an id, links a source and a target"
        )
    return value


def _number(entry: _Block, wanted: str) -> float | None:
    value = next((value for key, value in entry if key == wanted and isinstance(value, str)), None)
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def _delay_ms(edge: _Block, a: _Block, b: _Block, name: str) -> float | None:
    """As the file tells it, or from the positions of the ends; None if it tells neither."""
    told = next((value for key, value in edge if key == "delay"), None)
    if told is not None:
        given = _number(edge, "delay")
        if given is None or not 0 < given <= LONGEST_MS:
            raise TopologyError(
                f"{name}: a link has the delay {told!r}; give milliseconds above 0, up to {LONGEST_MS:g}"
            )
        return given
    places = [_number(end, key) for end in (a, b) for key in ("Latitude", "Longitude")]
    if any(place is None for place in places):
        return None
    lat_a, lon_a, lat_b, lon_b = (math.radians(place) for place in places if place is not None)
    half = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    km = 2 * 6371.0 * math.asin(min(1.0, math.sqrt(half)))
    return max(_LEAST_MS, km / _KM_PER_MS)


def _largest_part(names: set[str], links: dict[tuple[str, str], float]) -> set[str]:
    near: dict[str, set[str]] = {name: set() for name in names}
    for a, b in links:
        near[a].add(b)
        near[b].add(a)
    parts: list[set[str]] = []
    left = set(names)
    while left:
        waiting, part = [min(left)], set()
        while waiting:
            here = waiting.pop()
            if here not in part:
                part.add(here)
                waiting += near[here] - part
        parts.append(part)
        left -= part
    return max(parts, key=lambda part: (len(part), min(part)))
