"""From the registry and recorded rows to a placement problem: hosts, delays, flows, and where everything runs. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from placement.model import Flow, Host, OverlayNetwork, Placement, Problem
from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import model_flow
from services.registry.view import RegistryView
from services.whatif.recorded import Recorded
from topics.flow.file import parse_graph
from topics.messages import LinkMetrics

ASSUMED_DELAY_MS = 0.5
"""One way between two hosts that never probed each other, in the same region or not: said in the answer."""


@dataclass(frozen=True, slots=True)
class World:
    """Hosts with one-way delays by pair, flows by name, and where each task (segment) runs."""

    hosts: tuple[Host, ...]
    delays_ms: Mapping[tuple[str, str], float]
    flows: Mapping[str, Flow]
    running: Mapping[tuple[str, str], str]

    def problem(self) -> Problem:
        """For a strategy."""
        rows = [[self.delay_ms(one.name, other.name) for other in self.hosts] for one in self.hosts]
        return Problem(OverlayNetwork.sparse(self.hosts, rows), tuple(self.flows.values()))

    def delay_ms(self, one: str, other: str) -> float:
        """One way, as measured in either direction."""
        if one == other:
            return 0.0
        return self.delays_ms.get((one, other), self.delays_ms.get((other, one), ASSUMED_DELAY_MS))

    def placement(self) -> Placement:
        """What runs now, of the tasks whose hosts are there."""
        there = {host.name for host in self.hosts}
        return Placement.of({key: host for key, host in self.running.items() if host in there})


def world_of(
    view: RegistryView, recorded: Recorded, *, without: Iterable[str] = (), more: Iterable[Host] = ()
) -> World:
    """The world as recorded, without some hosts and with some more. A flow runs where most of its partitions do."""
    gone = set(without)
    reported = {row.host for row in recorded.operators} | {row.host for row in recorded.links}
    owners = {str(each.host) for each in view.placements.values() if each.host is not None}
    hosts = [
        Host(name, each.capacity, region=each.region)
        for name, each in sorted(view.hosts.items())
        if name in reported | owners and name not in gone
    ]
    hosts += more
    regions = {host.name: host.region for host in hosts}
    capacities = {name: each.capacity for name, each in view.hosts.items()}
    flows = {}
    for name, revision in sorted(view.flows.items()):
        if revision.state == "submitted" and regions:
            rows = [row for row in recorded.operators if row.flow == name]
            span_s = float(recorded.until_s - recorded.since_s)
            measures = measure_flow(rows, capacities, span_s=span_s) if rows else None
            flows[name] = model_flow(parse_graph(revision.text), regions, measures).flow
    return World(tuple(hosts), _delays(recorded.links), flows, _running(view, flows))


def faster(world: World, flow: str, factor: float) -> World:
    """The same world with the sources of one flow that many times as fast."""
    sped = world.flows[flow]
    sources = tuple(replace(source, rate_per_ms=source.rate_per_ms * factor) for source in sped.sources)
    return replace(world, flows={**world.flows, flow: replace(sped, sources=sources)})


def _delays(links: Iterable[LinkMetrics]) -> dict[tuple[str, str], float]:
    """Half the mean round trip of each pair."""
    trips: dict[tuple[str, str], list[float]] = {}
    for row in links:
        if row.round_trip_ms.count:
            trips.setdefault((row.host, row.peer), []).append(row.round_trip_ms.sum / row.round_trip_ms.count)
    return {pair: fmean(each) / 2 for pair, each in sorted(trips.items())}


def _running(view: RegistryView, flows: Mapping[str, Flow]) -> dict[tuple[str, str], str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    tasks = {(name, task.name) for name, flow in flows.items() for task in flow.tasks}
    for (segment, _), each in sorted(view.placements.items()):
        if each.host is not None and (each.flow, segment) in tasks:
            counts.setdefault((each.flow, segment), Counter())[each.host] += 1
    return {key: hosts.most_common(1)[0][0] for key, hosts in counts.items()}
