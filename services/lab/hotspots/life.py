"""One life of a stack: broker, Redis, placement service, slow hosts, the modelling service, and flows under bursts.

Flows are placed by ants, then moved to where every life begins, and held there under an even load; when models of all
of them come, they are let go and the bursts begin. The first seconds are for the models to learn from; then it counts.
Each life has a stack of its own: models that had seen the same bursts before would foresee them too well.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
from confluent_kafka import Producer

from placement.fits.arrays import Array, Flags
from services.embedded import EmbeddedStack
from services.embedded.process import Process
from services.lab.cluster.site import Site, flat, standing, with_command
from services.lab.cluster.watch import runs, slots_of
from services.lab.dataplane.ground import BenchError, Say, wait_until
from services.lab.hotspots.bursts import Bursts
from services.lab.hotspots.crier import cry
from services.lab.hotspots.flows import DEAR, sink_of, source_of, text_of
from services.lab.hotspots.news import News, listening
from services.lab.hotspots.records import Records, flowing
from services.lab.placements.arriving import arriving
from services.modelling.furnish import furnish_modelling
from services.modelling.near_read import is_of_host
from services.registry.asking import lay_down, now_ms
from services.registry.changes import submitted
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView, Slot
from services.registry.write import write
from services.settings import Settings
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import MoveRecord

HOSTS = 4
FLOWS = 2 * HOSTS
LEARNING_S = 60
SECONDS = 110
"""What is judged of a life."""
STEPS = 10
"""Into which a second is cut for that: hosts warn by the tenth of a second."""
HOSTS_ALONE, MODELS_ALONE = ", hosts alone", ", models alone"
MASTER = "local[2]"
LOOK_S = 1.0
"""A look at the whole registry takes processor time, too."""
PLACED_TIMEOUT_S, MODELS_TIMEOUT_S, RESULTS_TIMEOUT_S = 120.0, 180.0, 15.0
PROGRAM = Path(__file__).with_name("programs") / "played_host.py"

Where = Mapping[str, frozenset[str]]
"""Of each flow its hosts."""


@dataclass(frozen=True, slots=True)
class Life:
    """What was seen in the seconds that count.

    `latency_ms` [second, flow]; `late` [step, flow]: whose bounds were broken; `warned`: by who warns, at each step of
    whom; `where`: in each second, where flows ran. `pauses_ms` of moves in the whole life; `behind_s`: how late models
    came; `busy`: share of the machine's processors in use; `missing`: records without a result.
    """

    flows: tuple[str, ...]
    latency_ms: Array
    late: Flags
    warned: Mapping[str, Sequence[set[str]]]
    where: Sequence[Where]
    moves: int
    pauses_ms: Sequence[float]
    behind_s: Sequence[float]
    busy: float
    missing: int


@dataclass(frozen=True, slots=True)
class _Stage:
    """What runs, and who looks on; `slots`: which flow each partition is of."""

    site: Site
    news: News
    records: Records
    slots: Mapping[Slot, str]


def live(how: str, bursts: Bursts, settings: Settings, *, say: Say) -> Life:
    """`how`: reacting or foreseeing."""

    def told(what: str) -> None:
        say(f"{how}: {what}")

    def played(process: Process) -> Process:
        _, _, _, *options = process.command
        return with_command(process, sys.executable, str(PROGRAM), how, *options, "--capacity", "1")

    def furnish(stack: EmbeddedStack) -> None:
        furnish_modelling(stack, MASTER)  # it takes longest to start

    with standing(flat(HOSTS), settings, say=told, warn=told, alter=played, furnish=furnish) as site:
        for flow in bursts.flows:
            site.ground.make_topic(source_of(flow), 1)
            site.ground.make_topic(sink_of(flow), 1)
        slots = _placed(site, bursts.flows)
        _spread_out(site, slots)
        per_s = bursts.per_s.mean(axis=1)
        with (
            listening(site.bootstrap) as news,
            flowing(site.bootstrap, bursts.flows, per_s, seed=bursts.seed) as records,
        ):
            stage = _Stage(site, news, records, slots)
            told("waiting for models of all flows")
            wait_until(
                lambda: news.known() >= set(bursts.flows) and not _late(records),
                timeout_s=MODELS_TIMEOUT_S,
                what="models of all flows, and all of them within their bounds",
            )
            _rule(site, bursts.flows, "auto")
            return _counted(stage, bursts)


def _placed(site: Site, flows: Sequence[str]) -> dict[Slot, str]:
    """Submit all flows, and wait until they run; which flow each partition is of."""
    site.say(f"{len(flows)} flows are placed")
    texts = {flow: text_of(flow) for flow in flows}
    slots = {slot: flow for flow, text in texts.items() for slot in slots_of(text)}
    entries = [submitted(RegistryView(), parse_graph(text), text, {}, now_ms=now_ms()) for text in texts.values()]
    write(site.bootstrap, [entry for each in entries for entry in each])
    site.watch.until(
        lambda view: all(runs(view, slot) for slot in slots), timeout_s=PLACED_TIMEOUT_S, what="all flows to run"
    )
    return slots


def _spread_out(site: Site, slots: Mapping[Slot, str]) -> None:
    """Lives that begin from different places could not be compared: flows are held, as many on each host."""
    _rule(site, sorted(slots.values()), "freeze")
    hosts = sorted(site.watch.of(lambda view: list(view.hosts)))
    flows = sorted((flow, segment) for (segment, _), flow in slots.items())
    wanted = {segment: (flow, hosts[number % len(hosts)]) for number, (flow, segment) in enumerate(flows)}
    is_there = arriving(site.bootstrap, wanted)
    wait_until(
        lambda: is_there(read_registry(site.bootstrap, catalogue.SEGMENTS_STATUS, catalogue.MOVES)),
        timeout_s=PLACED_TIMEOUT_S,
        what="all flows to run where every life begins",
        poll_s=LOOK_S,
    )


def _rule(site: Site, flows: Sequence[str], policy: Literal["auto", "freeze"]) -> None:
    for flow in flows:
        lay_down(site.bootstrap, "flow", flow, policy)


def _counted(stage: _Stage, bursts: Bursts) -> Life:
    """Bursts, from their first second to the last."""
    news, records, flows = stage.news, stage.records, bursts.flows
    begun = int(time.time()) + 1
    time.sleep(begun - time.time())
    records.begin(bursts.due_s())
    first, where = begun + LEARNING_S, list[Where]()
    producer = Producer({"bootstrap.servers": stage.site.bootstrap, "linger.ms": 0, "log_level": 0})
    for second in _seconds(begun, LEARNING_S + SECONDS):
        if records.faults:
            raise BenchError(f"records can't be sent or read any more: {records.faults[0]}")
        if second == first:
            psutil.cpu_percent()
        now = stage.site.watch.of(lambda view: where_in(view, stage.slots))
        late = _cry(stage, now, producer)
        if second >= first:
            where.append(now)
        left = f"{first - second} s until it counts" if second < first else f"{second - first} of {SECONDS} s"
        stage.site.say(f"{left}, {late} of {len(flows)} flows beyond their bounds")
    busy = psutil.cpu_percent() / 100
    _wait_results(records, first)
    now_us = time.time_ns() // 1_000
    trips = [records.trips[flow] for flow in flows]
    warners = {"": None, HOSTS_ALONE: is_of_host, MODELS_ALONE: lambda key: not is_of_host(key)}
    moves = [*read_registry(stage.site.bootstrap, catalogue.MOVES).moves.values()]
    return Life(
        flows,
        np.array([each.latencies_ms(first, SECONDS, now_us=now_us) for each in trips]).T,
        np.array([each.late(first, SECONDS, STEPS) for each in trips]).T,
        {who: news.warned(first, SECONDS, STEPS, *([by] if by else [])) for who, by in warners.items()},
        where,
        len(_done(moves, since_ms=first * 1_000, until_ms=(first + SECONDS) * 1_000)),
        [move.actual_pause_ms for move in _done(moves) if move.actual_pause_ms is not None],
        news.behind_s(first, SECONDS),
        busy,
        sum(each.missing(first, SECONDS) for each in trips),
    )


def _late(records: Records) -> list[str]:
    """Flows whose bounds are broken now."""
    now_us = time.time_ns() // 1_000
    return [flow for flow, trips in records.trips.items() if trips.is_late(now_us)]


def _cry(stage: _Stage, where: Where, producer: Producer) -> int:
    """Tell of all bounds that are broken now; how many there are."""
    late, now_s = _late(stage.records), time.time()
    spots = stage.news.standing() if late else {}
    for flow in late:
        if hosts := where.get(flow):
            cry(flow, DEAR, min(hosts), spots.get(flow), now_s=now_s, write=producer.produce)
    producer.poll(0)
    return len(late)


def _seconds(first: int, count: int) -> Iterator[int]:
    """Each second when it ends; one that was slept through comes late, and none is left out."""
    for second in range(first, first + count):
        time.sleep(max(0.0, second + 1 - time.time()))
        yield second


def _wait_results(records: Records, first: int) -> None:
    """A backlog is worked off, if that does not take long: what is still missing then is told."""
    deadline_s = time.monotonic() + RESULTS_TIMEOUT_S
    while any(each.missing(first, SECONDS) for each in records.trips.values()) and time.monotonic() < deadline_s:
        time.sleep(0.5)


def where_in(view: RegistryView, slots: Mapping[Slot, str]) -> Where:
    """Of each flow its hosts, as the registry says."""
    found: dict[str, set[str]] = {}
    for slot, flow in slots.items():
        placed = view.placements.get(slot)
        if placed is not None and placed.host is not None:
            found.setdefault(flow, set()).add(placed.host)
    return {flow: frozenset(hosts) for flow, hosts in found.items()}


def _done(moves: Sequence[MoveRecord], *, since_ms: float = 0.0, until_ms: float = float("inf")) -> list[MoveRecord]:
    """Those that went well, and ended in this time."""
    return [move for move in moves if move.phase == "done" and since_ms <= move.since_ms < until_ms]
