"""From the registry and recorded rows to a placement problem: hosts, delays, flows, and where everything runs. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from placement.model import Flow, Host, OverlayNetwork, Placement, Problem
from services.host.cell.delays import Delays
from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import model_flow
from services.host.cell.served import served_at, served_model
from services.registry.sharing_counts import fixed_taps
from services.registry.view import RegistryView
from services.sharing.taps import still_tapped
from services.whatif.recorded import Recorded
from topics.flow.file import parse_graph


@dataclass(frozen=True, slots=True)
class World:
    """Hosts with the delays between them, flows by name, and where each task (segment) runs.

    `hops_ms`: what each flow's hops cost wherever it runs, beside what the model prices.
    """

    hosts: tuple[Host, ...]
    delays: Delays
    flows: Mapping[str, Flow]
    running: Mapping[tuple[str, str], str]
    hops_ms: Mapping[str, float] = field(default_factory=dict)

    def problem(self) -> Problem:
        """For a strategy."""
        rows = [[self.delays.delay_ms(one.name, other.name) for other in self.hosts] for one in self.hosts]
        return Problem(OverlayNetwork.sparse(self.hosts, rows), tuple(self.flows.values()))

    def placement(self) -> Placement:
        """What runs now, of the tasks whose hosts are there."""
        there = {host.name for host in self.hosts}
        return Placement.of({key: host for key, host in self.running.items() if host in there})


def drained_hosts(view: RegistryView) -> frozenset[str]:
    """Hosts that people have drained: what runs there leaves, and nothing comes."""
    return frozenset(name for (_, name), each in view.policies.items() if each.policy == "drained")


def world_of(
    view: RegistryView,
    recorded: Recorded,
    *,
    without: Iterable[str] = (),
    more: Iterable[Host] = (),
    drained: Collection[str] = (),
) -> World:
    """The world as recorded, without some hosts and with some more. A flow runs where most of its partitions do.

    `drained` hosts are there, so that sources and sinks stand at them, but take no tasks, and keep none.
    """
    gone = set(without)
    reported = {row.host for row in recorded.operators} | {row.host for row in recorded.links}
    owners = {str(each.host) for each in view.placements.values() if each.host is not None}
    hosts = [
        Host(name, 0.0 if name in drained else each.capacity, region=each.region)
        for name, each in sorted(view.hosts.items())
        if name in reported | owners and name not in gone
    ]
    hosts += more
    regions = {host.name: host.region for host in hosts}
    capacities = {name: each.capacity for name, each in view.hosts.items()}
    delays = Delays(regions)
    for row in sorted(recorded.links, key=lambda row: row.second):
        if row.round_trip_ms.count:
            delays.heard(row.host, row.peer, row.round_trip_ms.quantile(0.25))
    flows, hops_ms = {}, {}
    for name, revision in sorted(view.flows.items()):
        if revision.state == "submitted" and regions:
            rows = [row for row in recorded.operators if row.flow == name]
            span_s = float(recorded.until_s - recorded.since_s)
            measures = measure_flow(rows, capacities, span_s=span_s) if rows else None
            graph = parse_graph(revision.text)
            taps = still_tapped(graph, fixed_taps(view, name) or ())
            served = [tap.segment for tap in taps]
            model = model_flow(graph, regions, measures, hop_ms=delays.hop_ms, served=served)
            where = served_at(view, taps, live=regions, otherwise=next(iter(regions)))
            model = served_model(model, where, way_ms=delays.way_ms)
            flows[name], hops_ms[name] = model.flow, model.hops.total_ms
    running = {key: host for key, host in _running(view, flows).items() if host not in drained}
    return World(tuple(hosts), delays, flows, running, hops_ms)


def faster(world: World, flow: str, factor: float) -> World:
    """The same world with the sources of one flow that many times as fast."""
    return replace(world, flows={**world.flows, flow: world.flows[flow].faster(factor)})


def _running(view: RegistryView, flows: Mapping[str, Flow]) -> dict[tuple[str, str], str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    tasks = {(name, task.name) for name, flow in flows.items() for task in flow.tasks}
    for (segment, _), each in sorted(view.placements.items()):
        if each.host is not None and (each.flow, segment) in tasks:
            counts.setdefault((each.flow, segment), Counter())[each.host] += 1
    return {key: hosts.most_common(1)[0][0] for key, hosts in counts.items()}
