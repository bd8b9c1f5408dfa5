"""Part: kill -9 of a host that runs stateful operators of several flows, again and again.

There are twice as many flows as hosts, placed by ants; the host that owns most partitions dies, most often with leaders
of some of its flows. Detected is a death when the registry first shows that somebody knows: a plan without the host,
another owner for one of its partitions, or a failover, which tells how long before it the host was known to be lost.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.lab.cluster.site import Site
from services.lab.cluster.tally import TEXT, Tally, sink_of, source_of, tallying
from services.lab.cluster.watch import Seen, runs, slots_of
from services.lab.dataplane.ground import BenchError
from services.lab.results import Row
from services.registry.asking import now_ms
from services.registry.changes import submitted
from services.registry.view import RegistryView, Slot
from services.registry.write import write
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan, Decision, Placement, SegmentStatus

FLOWS_PER_HOST, PARTITIONS = 2, 2
CALM_S = 2.0
"""Of an even load before each death."""
RUNNING_TIMEOUT_S, AGAIN_TIMEOUT_S, WHOLE_TIMEOUT_S = 180.0, 120.0, 60.0


@dataclass(frozen=True, slots=True)
class Death:
    """One host's: seconds from the kill until it was known, until all its partitions ran elsewhere, and until results
    of all of them came again; how many flows and partitions those were, and what the counts were like afterwards."""

    detected_s: float
    running_s: float
    results_s: float
    flows: int
    partitions: int
    keys_wrong: int
    out_of_turn: int


def death(site: Site, *, repetitions: int, keys: int, rate_per_s: int) -> list[Row]:
    """Deaths one after the other; who died starts again in between."""
    flows = [f"death-{number}" for number in range(FLOWS_PER_HOST * len(site.hosts))]
    slots = {slot: flow for flow in flows for slot in slots_of(TEXT.replace("NAME", flow), partitions=PARTITIONS)}
    for flow in flows:
        site.ground.make_topic(source_of(flow), PARTITIONS)
        site.ground.make_topic(sink_of(flow), PARTITIONS)
    with tallying(site.bootstrap, flows, partitions=PARTITIONS, keys=keys, rate_per_s=rate_per_s) as tally:
        site.say(f"death: {len(flows)} flows are placed")
        texts = [TEXT.replace("NAME", flow) for flow in flows]
        entries = [submitted(RegistryView(), parse_graph(text), text, {}, now_ms=now_ms()) for text in texts]
        write(site.bootstrap, [entry for each in entries for entry in each])
        found = site.repeated("death", repetitions, lambda _: _died(site, slots, tally))
    return rows(found)


def busiest(view: RegistryView, slots: Mapping[Slot, str]) -> str:
    """The host that owns most of these partitions; of equals the first by name."""
    owned = Counter(str(view.placements[slot].host) for slot in slots)
    return min(owned, key=lambda host: (-owned[host], host))


def _died(site: Site, slots: Mapping[Slot, str], tally: Tally) -> Death:
    site.watch.until(
        lambda view: all(runs(view, slot) for slot in slots), timeout_s=RUNNING_TIMEOUT_S, what="all flows to run"
    )
    wrong, out_of_turn = tally.settle(timeout_s=WHOLE_TIMEOUT_S), tally.out_of_turn()
    time.sleep(CALM_S)
    victim = site.watch.of(lambda view: busiest(view, slots))
    lost = site.watch.of(
        lambda view: {slot: flow for slot, flow in slots.items() if view.placements[slot].host == victim}
    )
    killed_s = site.kill(victim)
    site.watch.until(
        lambda view: all(runs(view, slot) and view.placements[slot].host != victim for slot in lost),
        timeout_s=AGAIN_TIMEOUT_S,
        what=f"what ran on {victim} to run elsewhere",
    )
    keys_wrong = tally.settle(timeout_s=WHOLE_TIMEOUT_S)
    seen = site.watch.since(killed_s)
    again_s = [tally.flows[flow].again_s(partition, killed_s) for (_, partition), flow in lost.items()]
    made = Death(
        detected_s=detected_s(seen, lost, victim) - killed_s,
        running_s=running_s(seen, lost, victim) - killed_s,
        results_s=max(again_s) - killed_s,
        flows=len(set(lost.values())),
        partitions=len(lost),
        keys_wrong=max(0, keys_wrong - wrong),
        out_of_turn=tally.out_of_turn() - out_of_turn,
    )
    site.start(victim)
    return made


def detected_s(seen: Sequence[Seen], slots: Mapping[Slot, str], victim: str) -> float:
    """When it first shows that the host is known to be lost."""
    flows, known = set(slots.values()), []
    for each in seen:
        match each.message:
            case CommittedPlan(flow=flow, hosts=hosts) if flow in flows and victim not in hosts.values():
                known.append(each.at_s)
            case Placement(segment=segment, partition=number, host=str(host)) if (segment, number) in slots:
                if host != victim:
                    known.append(each.at_s)
            case Decision(kind="failed_over", flow=flow, evidence=evidence) if flow in flows:
                known.append(each.at_s - float(evidence["known_ms"]) / 1e3)
    if not known:
        raise BenchError(f"nothing shows that {victim} was known to be lost")
    return min(known)


def running_s(seen: Sequence[Seen], slots: Mapping[Slot, str], victim: str) -> float:
    """When the last of these partitions first ran elsewhere."""
    first: dict[Slot, float] = {}
    for each in seen:
        match each.message:
            case SegmentStatus(segment=segment, partition=number, host=host, state="running"):
                if (segment, number) in slots and host != victim:
                    first.setdefault((segment, number), each.at_s)
    if missing := sorted(set(slots) - set(first)):
        raise BenchError(f"{missing[0][0]}/{missing[0][1]} never ran elsewhere")
    return max(first.values())


def rows(found: Sequence[Death]) -> list[Row]:
    """Detection, what comes after it, and the whole; then whether state was whole."""
    times = {
        "a host dies: until it is detected": [each.detected_s for each in found],
        "a host dies: from detection until all its partitions run elsewhere": [
            each.running_s - each.detected_s for each in found
        ],
        "a host dies: until all its partitions run elsewhere": [each.running_s for each in found],
        "a host dies: until results of all its partitions come again": [each.results_s for each in found],
    }
    made = []
    for measure, samples in times.items():
        made += [Row.of(f"{measure}, median", samples, "s"), Row.quantile(f"{measure}, p99", samples, 0.99, "s")]
    return [
        *made,
        Row.of("a host dies: flows that it ran", [each.flows for each in found], "flows"),
        Row.of("a host dies: partitions with state that it ran", [each.partitions for each in found], "partitions"),
        Row.quantile("a host dies: keys with a wrong count, most", [each.keys_wrong for each in found], 1.0, "keys"),
        Row.quantile("a host dies: results out of turn, most", [each.out_of_turn for each in found], 1.0, "results"),
    ]
