"""Part: what ants cost while flows run: their share of what the brokers write, and a cell's share of a core.

Flows go between the regions of a world under an even load. Bytes are counted in the brokers' own log files. Hosts run
by `programs/metered_host.py`, which tells what tasks of the cell take; what the event loop takes for all its tasks is
shared out by what they take themselves.
"""

import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from services.embedded.process import Process
from services.lab.cluster.broker_bytes import Logs, Use, by_use, control_messages, growth, logs_under, use_of
from services.lab.cluster.site import Site, with_command
from services.lab.cluster.watch import runs, slots_of
from services.lab.dataplane.ground import BenchError
from services.lab.placements.load import Load
from services.lab.placements.measures import routes_of
from services.lab.placements.topics import make_led_topics
from services.lab.results import Row
from services.registry.asking import now_ms
from services.registry.changes import submitted
from services.registry.view import RegistryView
from services.registry.write import write
from topics.flow.file import parse_graph

PROGRAM = Path(__file__).with_name("programs") / "metered_host.py"
PLACED_TIMEOUT_S = 180.0
WARM_S = 30.0
"""Placement is a burst of ants; what is measured is the rest of a flow's life."""
QUARTERS = 4
"""Whether ants come to rest shows in the parts of the time, one after the other."""
LINGER_MS = 5.0
"""The client library's default: nobody looks at the latency of single records here."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one host: shares of a core of its cell's tasks, of its cell with its part of the loop, of all of it."""

    tasks: float
    cell: float
    host: float


@dataclass(frozen=True, slots=True)
class Through:
    """What went through, and how much of the machine all of it took."""

    sent_per_s: float
    results_per_s: float
    busy_share: float

    def rows(self) -> list[Row]:
        """As they are told."""
        return [
            Row.of("records sent", [self.sent_per_s], "records/s"),
            Row.of("results", [self.results_per_s], "results/s"),
            Row.of("processors in use", [self.busy_share], "share"),
        ]


def metered(process: Process) -> Process:
    """A host that tells what its cell takes. `python -m services.host` becomes the program and its file."""
    _, _, _, *options = process.command
    return with_command(process, sys.executable, str(PROGRAM), str(meter_file(process)), *options)


def meter_file(process: Process) -> Path:
    """Where it tells it."""
    return process.log.with_suffix(".meter")


def traffic(site: Site, *, flows: int, rate_per_s: float, seconds: float, seed: int) -> list[Row]:
    """Flows with so many records a second in all, watched for so long."""
    routes = routes_of(site.world, flows, seed=seed)
    make_led_topics(site.bootstrap, {topic: region for route in routes for topic, region in route.topics.items()})
    load = Load(
        routes,
        {name: site.stack.bootstrap_from(name) for name in site.world.brokers},
        per_s=rate_per_s / flows,
        linger_ms=LINGER_MS,
    )
    slots = [slot for route in routes for slot in slots_of(route.text)]
    load.start()
    try:
        site.say(f"traffic: {flows} flows are placed")
        for route in routes:
            write(site.bootstrap, submitted(RegistryView(), parse_graph(route.text), route.text, {}, now_ms=now_ms()))
        site.watch.until(
            lambda view: all(runs(view, slot) for slot in slots), timeout_s=PLACED_TIMEOUT_S, what="all flows to run"
        )
        site.say(f"traffic: warming up for {WARM_S:.0f} s")
        time.sleep(WARM_S)
        site.say(f"traffic: watching for {seconds:.0f} s")
        begun_s, logs, messages = time.monotonic(), [_logs(site)], control_messages(site.ground.client)
        meters, sent, results = _read(site), load.sent, 0
        psutil.cpu_percent()  # the next call tells of the time since this one
        for _ in range(QUARTERS):
            results += sum(map(len, load.measured(seconds / QUARTERS).values()))
            logs.append(_logs(site))
        took_s, busy_share = time.monotonic() - begun_s, psutil.cpu_percent() / 100
        through = Through((load.sent - sent) / took_s, results / took_s, busy_share)
        ants = control_messages(site.ground.client).ants - messages.ants
        last = _read(site)
    finally:
        load.stop()
    costs = [cost_of(meters[name], each) for name, each in last.items()]
    kinds = sent_between(list(meters.values()), list(last.values()))
    return [*rows(logs, costs, took_s=took_s, ants=ants, kinds=kinds), *through.rows()]


def _logs(site: Site) -> dict[Path, int]:
    return logs_under(site.stack.home.kafka)


def _read(site: Site) -> dict[str, dict[str, Any]]:
    """The last line that each host has told."""
    found = {}
    for name, process in site.hosts.items():
        lines = meter_file(process).read_text().splitlines()
        if not lines:
            raise BenchError(f"{name} tells nothing of its processor time")
        found[name] = json.loads(lines[-1])
    return found


def sent_between(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """From two lines of each host: what all cells have sent, by kind. Several ants share an envelope."""
    sent: Counter[str] = Counter()
    for each in after:
        sent.update(each["sent"])
    for each in before:
        sent.subtract(each["sent"])
    return sent


def cost_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> Cost:
    """From two lines of a host."""
    names = ("at_s", "cell_s", "tasks_s", "process_s")
    took_s, cell_s, tasks_s, process_s = (after[name] - before[name] for name in names)
    return Cost(cell_s / took_s, process_s * cell_s / tasks_s / took_s if tasks_s else 0.0, process_s / took_s)


def rows(
    looks: Sequence[Logs],
    costs: Sequence[Cost],
    *,
    took_s: float,
    ants: int,
    kinds: Mapping[str, int],
) -> list[Row]:
    """Shares of all bytes written, rates, and what cells take. `looks`: at the logs, as long after each other."""
    topics = growth(looks[0], looks[-1])
    written = by_use(topics)
    total = sum(written.values()) or 1
    made = [
        Row.of(f"share of the bytes written on brokers: {use.value}", [size / total], "share")
        for use, size in written.items()
    ]
    parts = [by_use(growth(before, after)) for before, after in itertools.pairwise(looks)]
    shares = [part[Use.ANTS] / (sum(part.values()) or 1) for part in parts]
    data = written[Use.USERS] + written[Use.STATE]
    return [
        *made,
        *(
            Row.of(f"share of the bytes written on brokers: ants, part {number} of {len(shares)}", [share], "share")
            for number, share in enumerate(shares, start=1)
        ),
        Row.of("ants' bytes over those of the data", [written[Use.ANTS] / (data or 1)], "ratio", baseline="data"),
        Row.of("bytes written on brokers", [total / took_s], "bytes/s"),
        *(
            Row.of(f"bytes written on brokers: {topic}", [size / took_s], "bytes/s")
            for topic, size in sorted(topics.items())
            if use_of(topic) is Use.ANTS
        ),
        Row.of("messages on the ants' topics", [ants / took_s], "messages/s"),
        *(Row.of(f"sent by cells: {kind}", [count / took_s], "1/s") for kind, count in sorted(kinds.items()) if count),
        Row.of("processor time of a cell, median of hosts", [each.cell for each in costs], "cores"),
        Row.quantile("processor time of a cell, busiest host", [each.cell for each in costs], 1.0, "cores"),
        Row.of("processor time of a cell's tasks alone, median of hosts", [each.tasks for each in costs], "cores"),
        Row.of("processor time of a host, all of it, median of hosts", [each.host for each in costs], "cores"),
        Row.of("processor time of all hosts", [math.fsum(each.host for each in costs)], "cores"),
    ]
