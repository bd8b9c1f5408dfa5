"""Part: a hundred flows of ten operators, submitted at once.

All revisions are written to the registry in one go, as if a hundred people had pressed enter together: to start a
hundred commands would measure how fast processes start. Each flow is placed when all its partitions have owners, or
refused when a decision says why. Load as promised is what the model says of the flows before their first record, which
is what leaders and cells go by then; the one validator judges it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from placement.model import Host, OverlayNetwork, Problem
from placement.model import Placement as PlacedTasks
from placement.model.residents import host_load, masks_by_host
from placement.model.validator import Rule, violations
from services.embedded.world import World
from services.host.cell.flow_model import model_flow
from services.lab.cluster.broker_bytes import control_messages
from services.lab.cluster.site import Site
from services.lab.cluster.trickle import Entry, trickle
from services.lab.cluster.watch import Seen, slots_of
from services.lab.dataplane.ground import BenchError, wait_until
from services.lab.placements.topics import make_led_topics
from services.lab.results import Row
from services.registry.asking import now_ms
from services.registry.changes import submitted
from services.registry.view import RegistryView, Slot
from services.registry.write import write
from topics.flow.file import parse_graph
from topics.messages import Decision, Placement, SegmentStatus

SETTLED_TIMEOUT_S = 300.0
"""More than twice the time in which all should be placed or refused: who is late is told, not cut off."""
RUNNING_TIMEOUT_S = 300.0
RECORD_EVERY_S = 1.0
TEXT = """
flow: NAME
sources:
  clicks: {topic: NAME-clicks, at: SOURCE, key: id}
operators:
  paid: {op: filter, input: clicks, where: "price > 0"}
  slim: {op: project, input: paid, fields: {id: id, price: price}}
  sums: {op: aggregate, input: slim, by: [id], emit: {total: sum(price), n: count()}}
  busy: {op: filter, input: sums, where: "n > 0"}
  mean: {op: project, input: busy, fields: {id: id, total: total, mean: total / n}}
  all: {op: aggregate, input: mean, by: [], emit: {best: max(total), least: min(mean), n: count()}}
  some: {op: filter, input: all, where: "n > 0"}
  span: {op: project, input: some, fields: {best: best, span: best - least, n: n}}
  wide: {op: filter, input: span, where: "span >= 0"}
  told: {op: project, input: wide, fields: {best: best, n: n}}
sinks:
  out: {input: told, topic: NAME-best, at: SINK}
"""
"""Ten operators in two segments: what is counted of all records is one partition's work."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the herd fared: seconds until each flow was placed, refused, or ran."""

    placed_s: Mapping[str, float]
    refused_s: Mapping[str, float]
    unsettled: int
    running_s: Mapping[str, float]
    hosts_overbooked: int
    load_max: float
    ant_messages: int
    other_messages: int


def herd(site: Site, *, flows: int, seed: int) -> list[Row]:
    """Submit, and watch until all is settled."""
    texts = texts_of(site.world, flows, seed=seed)
    slots = {name: slots_of(text) for name, text in texts.items()}
    site.say(f"herd: topics of {flows} flows")
    make_led_topics(site.bootstrap, _led(texts))
    sources = [f"{name}-clicks" for name in texts]
    with trickle(site.bootstrap, sources, _click, every_s=RECORD_EVERY_S, linger_ms=5):
        before = control_messages(site.ground.client)
        site.say(f"herd: {flows} flows at once")
        entries = [
            entry
            for text in texts.values()
            for entry in submitted(RegistryView(), parse_graph(text), text, {}, now_ms=now_ms())
        ]
        begun_s = time.monotonic()
        write(site.bootstrap, entries)

        _wait(site, lambda: _unsettled(site, begun_s, slots), timeout_s=SETTLED_TIMEOUT_S, what="all flows settled")
        after = control_messages(site.ground.client)
        placed, refused = settled_s(site.watch.since(begun_s), slots)
        there = {name: slots[name] for name in placed}
        _wait(site, lambda: _idle(site, begun_s, there), timeout_s=RUNNING_TIMEOUT_S, what="all placed flows to run")
        running = running_s(site.watch.since(begun_s), slots)
    for line in site.watch.of(lambda view: still(view, {name: there[name] for name in set(there) - set(running)})):
        site.ground.warn(f"herd: {line}")
    overbooked, load_max = site.watch.of(lambda view: promised(view, texts))
    return rows(
        Outcome(
            {name: at_s - begun_s for name, at_s in placed.items()},
            {name: at_s - begun_s for name, at_s in refused.items()},
            len(slots) - len(placed) - len(refused),
            {name: at_s - begun_s for name, at_s in running.items()},
            overbooked,
            load_max,
            after.ants - before.ants,
            after.others - before.others,
        )
    )


def _wait(site: Site, left: Callable[[], int], *, timeout_s: float, what: str) -> None:
    """Until nothing is left. Who is late is told: the rows say how many there are."""
    try:
        wait_until(lambda: not left(), timeout_s=timeout_s, what=what, poll_s=0.5)
    except BenchError as fault:
        site.ground.warn(f"herd: {fault}")


def _unsettled(site: Site, begun_s: float, slots: Mapping[str, frozenset[Slot]]) -> int:
    placed, refused = settled_s(site.watch.since(begun_s), slots)
    left = len(slots) - len(placed) - len(refused)
    site.say(f"herd: {len(placed)} placed, {len(refused)} refused, {left} wait")
    return left


def _idle(site: Site, begun_s: float, slots: Mapping[str, frozenset[Slot]]) -> int:
    left = len(slots) - len(running_s(site.watch.since(begun_s), slots))
    site.say(f"herd: {left} of {len(slots)} placed flows do not run yet")
    return left


def texts_of(world: World, count: int, *, seed: int) -> dict[str, str]:
    """Flow files by name, with their ends drawn by chance among the regions that have a broker."""
    rng, made = Random(seed), {}
    for number in range(count):
        source, sink = rng.choice(world.brokers), rng.choice(world.brokers)
        name = f"herd-{number:03d}"
        made[name] = TEXT.replace("NAME", name).replace("SOURCE", source).replace("SINK", sink)
    return made


def settled_s(seen: Sequence[Seen], slots: Mapping[str, frozenset[Slot]]) -> tuple[dict[str, float], dict[str, float]]:
    """When each flow was placed, and when each other one was refused with a reason. A flow that was refused and found a
    place later is placed."""
    flow_of = {slot: name for name, each in slots.items() for slot in each}
    waiting = {name: set(each) for name, each in slots.items()}
    placed: dict[str, float] = {}
    refused: dict[str, float] = {}
    for each in seen:
        match each.message:
            case Placement(segment=segment, partition=number, host=str()) if (segment, number) in flow_of:
                name = flow_of[segment, number]
                waiting[name].discard((segment, number))
                if not waiting[name]:
                    placed.setdefault(name, each.at_s)
            case Decision(kind="refused", plan=None, flow=str(name), why=why) if name in slots and why:
                refused.setdefault(name, each.at_s)
    return placed, {name: at_s for name, at_s in refused.items() if name not in placed}


def running_s(seen: Sequence[Seen], slots: Mapping[str, frozenset[Slot]]) -> dict[str, float]:
    """When each flow first had said of all its partitions that they run."""
    flow_of = {slot: name for name, each in slots.items() for slot in each}
    waiting = {name: set(each) for name, each in slots.items()}
    found: dict[str, float] = {}
    for each in seen:
        match each.message:
            case SegmentStatus(segment=segment, partition=number, state="running") if (segment, number) in flow_of:
                name = flow_of[segment, number]
                waiting[name].discard((segment, number))
                if not waiting[name]:
                    found.setdefault(name, each.at_s)
    return found


def still(view: RegistryView, slots: Mapping[str, frozenset[Slot]]) -> list[str]:
    """Of flows that do not run: where each of their partitions should, and what its host has said of it."""
    lines = []
    for slot in sorted(slot for each in slots.values() for slot in each):
        placed, told = view.placements.get(slot), view.statuses.get(slot)
        owner = "nobody" if placed is None else f"{placed.host} at epoch {placed.epoch}"
        said = "nothing" if told is None else f"{told.host} at epoch {told.epoch} {told.state} {told.reason or ''}"
        lines.append(f"{slot[0]}[{slot[1]}] belongs to {owner}, told is {said.strip()}")
    return lines


def promised(view: RegistryView, texts: Mapping[str, str]) -> tuple[int, float]:
    """How many hosts are overbooked, and the load of the fullest one, by what the flows were taken for at first."""
    hosts = tuple(Host(name, each.capacity, region=each.region) for name, each in sorted(view.hosts.items()))
    regions = {host.name: host.region for host in hosts}
    placed = {(each.flow, slot[0]): each.host for slot, each in sorted(view.placements.items()) if each.host}
    there = sorted({flow for flow, _ in placed} & set(texts))
    flows = tuple(model_flow(parse_graph(texts[name]), regions).flow for name in there)
    network = OverlayNetwork.sparse(hosts, [[0.0] * len(hosts) for _ in hosts])
    problem, where = Problem(network, flows), PlacedTasks.of(placed)
    loads = [host_load(problem, host, mask).rho for host, mask in masks_by_host(problem, where).items()]
    broken = [each for each in violations(problem, where) if each.rule is Rule.OVERBOOKED]
    return len(broken), max(loads, default=0.0)


def rows(found: Outcome) -> list[Row]:
    """One herd: times over its flows, and counts."""
    settled = [*found.placed_s.values(), *found.refused_s.values()]
    made = []
    if settled:
        made += [
            Row.of("herd: until a flow is placed or refused, median", settled, "s"),
            Row.quantile("herd: until a flow is placed or refused, p99", settled, 0.99, "s"),
            Row.quantile("herd: until a flow is placed or refused, largest", settled, 1.0, "s"),
        ]
    if found.running_s:
        made.append(Row.quantile("herd: until a flow runs, largest", list(found.running_s.values()), 1.0, "s"))
    counts = {
        "herd: flows placed": (len(found.placed_s), "flows"),
        "herd: flows refused with a reason": (len(found.refused_s), "flows"),
        "herd: flows neither placed nor refused": (found.unsettled, "flows"),
        "herd: flows that ran": (len(found.running_s), "flows"),
        "herd: hosts overbooked": (found.hosts_overbooked, "hosts"),
        "herd: load promised on the fullest host": (found.load_max, "share"),
        "herd: messages on the ants' topics until then": (found.ant_messages, "messages"),
        "herd: messages on the other control topics until then": (found.other_messages, "messages"),
    }
    return [*made, *(Row.of(measure, [float(value)], unit) for measure, (value, unit) in counts.items())]


def _led(texts: Mapping[str, str]) -> dict[str, str]:
    """Topic -> the region that leads it."""
    led: dict[str, str] = {}
    for text in texts.values():
        spec = parse_graph(text).spec
        led |= {source.topic: str(source.at) for source in spec.sources}
        led |= {sink.topic: str(sink.at) for sink in spec.sinks}
    return led


def _click(number: int) -> Entry:
    return b"%d" % (number % 20), b'{"id":%d,"price":%d}' % (number % 20, 1 + number % 7)
