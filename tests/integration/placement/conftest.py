"""Placement instances and hosts as real processes, on a broker of their own: an instance cares for every flow it sees.

The tests play the leader: they write plans, as a flow's leader does, and watch what the service makes of them.
"""

import hashlib
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from services.embedded import EmbeddedStack, StackParams
from services.registry.snapshot import read_registry
from services.registry.write import write
from tests.integration.host_process.conftest import ROOT, Hosts, Stage
from tests.integration.host_process.conftest import stage as stage  # noqa: PLC0414 - a fixture
from tests.waiting import until
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan, Decision, FlowRevision, MoveRecord, Placement, Policy, Request


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Service:
    """Placement instances of one test."""

    bootstrap: str
    logs: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *names: str, silent_s: float = 15.0) -> None:
        for name in names:
            command = [sys.executable, "-m", "services.placement", "--name", name, "--bootstrap", self.bootstrap]
            command += ["--silent", str(silent_s), "--log-format", "json"]
            with (self.logs / f"{name}.log").open("ab") as log:
                self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)

    def active(self) -> str | None:
        """The instance that became active last, by what they have logged."""
        found = []
        for name in self.running:
            text = (self.logs / f"{name}.log").read_text()
            found += [(line, name) for line in text.splitlines() if '"event": "active"' in line or '"active"' in line]
        return max(found, key=lambda each: each[0].partition('"timestamp"')[2])[1] if found else None

    def stop_all(self) -> None:
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(18)
                process.terminate()
        for process in self.running.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Leader:
    """Plays the leader of one flow, and the person at the keyboard."""

    def __init__(self, flow: Stage, hosts: Hosts) -> None:
        self.flow, self.hosts = flow, hosts
        self.graph = parse_graph(flow.text)
        self.epoch = 0

    def submit(self) -> None:
        flow = FlowRevision(
            flow=self.flow.name,
            revision=1,
            state="submitted",
            text=self.flow.text,
            delivery=self.graph.spec.delivery,
            changed_ms=now_ms(),
        )
        write(self.flow.bootstrap, [(catalogue.FLOWS, flow)])

    def plan(self, *shorts: str) -> CommittedPlan:
        """Publishes a plan that puts the segments on these hosts, in turn."""
        self.epoch += 1
        hosts = {
            segment.id: self.hosts.name(shorts[number % len(shorts)])
            for number, segment in enumerate(self.graph.segments)
        }
        plan = CommittedPlan(
            flow=self.flow.name,
            revision=1,
            epoch=self.epoch,
            hash=hashlib.sha256(f"{self.flow.name}{self.epoch}{hosts}".encode()).hexdigest()[:16],
            hosts=hosts,
            moves=(),
            cost_ms=1.0,
            latency_ms=1.0,
            reason="the test wants it",
            leader="test",
            term=2**40,  # above that of the leader which lives on a host, so that this one counts
            decided_ms=now_ms(),
            basis={},
        )
        write(self.flow.bootstrap, [(catalogue.PLANS, plan)])
        if self.epoch == 1:  # after the plan: no leader on a host may be quicker
            self.submit()
        return plan

    def ask(self, kind: Any, **more: Any) -> str:
        request = Request(
            request=f"r-{uuid.uuid4().hex[:8]}",
            kind=kind,
            flow=self.flow.name,
            asked_ms=now_ms(),
            asked_by="ada",
            **more,
        )
        write(self.flow.bootstrap, [(catalogue.REQUESTS, request)])
        return request.request

    def lay_down(self, subject: Any, name: str, policy: Any) -> None:
        ruled = Policy(subject=subject, name=name, policy=policy, changed_ms=now_ms())
        write(self.flow.bootstrap, [(catalogue.POLICIES, ruled)])

    def placements(self) -> Mapping[tuple[str, int], Placement]:
        placed = read_registry(self.flow.bootstrap).placements
        return {slot: each for slot, each in placed.items() if each.flow == self.flow.name and each.host is not None}

    def owners(self) -> set[str]:
        return {str(each.host) for each in self.placements().values()}

    def runs_on(self, *shorts: str) -> bool:
        """Whether all partitions run, all of them on these hosts, as their owners say themselves."""
        statuses, placements = self.flow.statuses(), self.placements()
        wanted = {self.hosts.name(short) for short in shorts}
        return (
            bool(placements)
            and {each.host for each in placements.values()} == wanted
            and all(
                (told := statuses.get(slot)) is not None
                and (told.host, told.epoch, told.state) == (each.host, each.epoch, "running")
                for slot, each in placements.items()
            )
        )

    def until_runs_on(self, *shorts: str) -> None:
        try:
            self.flow.until(lambda: self.runs_on(*shorts), f"it runs on {', '.join(shorts)}")
        except AssertionError as fault:
            raise AssertionError(f"{fault}\n{self.placements()}\n{self.moves()}\n{self.decisions()}") from None

    def moves(self) -> list[MoveRecord]:
        found = read_registry(self.flow.bootstrap, catalogue.MOVES).moves.values()
        return [move for move in found if move.flow == self.flow.name]

    def decisions(self) -> list[Decision]:
        found = read_registry(self.flow.bootstrap, catalogue.DECISIONS).decisions.values()
        return [each for each in found if each.flow == self.flow.name]

    def answers(self, request: str) -> list[Decision]:
        return [each for each in self.decisions() if each.request == request]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker for these tests alone."""
    with EmbeddedStack(StackParams(home=tmp_path_factory.mktemp("stack"))) as stack:
        yield stack.bootstrap


@pytest.fixture
def hosts(kafka: str, tmp_path: Path) -> Iterator[Hosts]:
    each = Hosts(kafka, tmp_path)
    yield each
    each.stop_all()


@pytest.fixture
def service(kafka: str, tmp_path: Path) -> Iterator[Service]:
    """Placement instances to be started by the test; none outlives it, and what it placed ends with it."""
    each = Service(kafka, tmp_path)
    yield each
    each.stop_all()


@pytest.fixture
def lead(hosts: Hosts, stage: Callable[..., Stage], kafka: str) -> Iterator[Callable[[str], Leader]]:
    """Makes a flow from a template, to be submitted with its first plan, withdrawn at the end: others see it too."""
    leaders: list[Leader] = []

    def make(template: str) -> Leader:
        leaders.append(Leader(stage(template), hosts))
        return leaders[-1]

    yield make
    for leader in leaders:
        known = read_registry(kafka).flows[leader.flow.name]
        ended = FlowRevision(
            flow=known.flow,
            revision=known.revision + 1,
            state="withdrawn",
            text=known.text,
            delivery=known.delivery,
            changed_ms=now_ms(),
        )
        write(kafka, [(catalogue.FLOWS, ended)])


__all__ = ["Leader", "Service", "until"]
