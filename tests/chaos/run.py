"""One run: play a scenario on the ground, heal, wait for rest, judge; keep the evidence if the verdict is bad."""

import random
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from confluent_kafka.admin import AdminClient, NewTopic

from services.host.segment_plan import SegmentPlan, plan_segment
from services.registry.changes import submitted, withdrawn
from services.registry.snapshot import TIMEOUT_S, read_registry
from services.registry.view import Slot
from services.registry.write import write
from tests.chaos.faults import Arena, timeline
from tests.chaos.feed import Feeder
from tests.chaos.ground import NO_BUG, ROOT, Ground, NeverError, answer, until
from tests.chaos.observed import Observer, Row
from tests.chaos.rest import settle
from tests.chaos.scenario import Scenario
from tests.chaos.verdict import Verdict, judge
from topics.flow.file import parse_graph
from topics.messages import Placement

EVIDENCE = ROOT / "build" / "chaos"
WRITING_DOWN_S = 1.0
"""For the hosts to write down what they wait for."""
RECIPE = "python -m tests.chaos --first-seed {seed} --seeds 1{bug}"


@dataclass(frozen=True)
class Outcome:
    """How a run went."""

    scenario: Scenario
    verdict: Verdict
    took_s: float
    evidence: Path | None = None
    bug: str = NO_BUG

    @property
    def line(self) -> str:
        """The run in one line, and what is wrong below it."""
        verdict = self.verdict
        state = "ok  " if verdict.is_good else "BAD "
        told = f"{verdict.results} results, {verdict.repeated} repeated, gap {verdict.gap_s:.1f} s"
        line = f"{state}seed {self.scenario.seed} in {self.took_s:.1f} s: {told}; {self.scenario}"
        return line if verdict.is_good else "\n  ".join([line, *verdict.problems, *self._recipe()])

    def _recipe(self) -> list[str]:
        bug = "" if self.bug == NO_BUG else f" --bug {self.bug}"
        return [f"again: {RECIPE.format(seed=self.scenario.seed, bug=bug)}", f"evidence: {self.evidence}"]


class Run:
    """A scenario on a ground; `play` it once."""

    def __init__(self, scenario: Scenario, ground: Ground) -> None:
        self.scenario = scenario
        self.ground = ground
        case = scenario.case
        self.flow = f"chaos-{scenario.seed}-{time.time_ns() // 1_000_000 % 10_000_000}"
        self.topics = {name: f"{self.flow}.{name}" for name in (*case.sources, *case.sinks)}
        self.text = case.text(
            self.flow,
            delivery=scenario.delivery,
            state=scenario.state,
            partitions=scenario.partitions,
            topics=self.topics,
            gate=str(ground.gate),
        )
        self.graph = parse_graph(self.text)
        self.observer = Observer(ground.bootstrap)
        self._log_starts = self._log_sizes()

    def play(self) -> Outcome:
        """From the first host to the verdict."""
        return Outcome(self.scenario, *self._tried(), bug=self.ground.bug)

    def _tried(self) -> tuple[Verdict, float, Path | None]:
        """The verdict, how long it took in seconds, and where the evidence is if it is bad."""
        begun_s = time.monotonic()
        try:
            verdict = self._play()
        except NeverError as never:
            verdict = Verdict(problems=[str(never)], waited_in_vain=True)
        took_s = time.monotonic() - begun_s
        evidence = None if verdict.is_good else self._keep_evidence(verdict)
        with suppress(NeverError):  # a broker that is gone for good spoils the next run, too, which says so
            self._withdraw()
        if not verdict.is_good:
            self.ground.clear()  # whatever is wrong with these hosts, the next run shall not have it
        return verdict, took_s, evidence

    def _play(self) -> Verdict:
        self._raise()
        plans = self._made()
        self._place(plans)
        feeder = Feeder(self.ground.bootstrap, self.topics, self.scenario.fed)
        begun_ms = None if self.scenario.is_ahead else time.time_ns() // 1_000_000
        feeder.start()
        try:
            self._happen()
            feeder.finish()
        finally:
            feeder.stop()
        self.ground.until_services_are_ready()
        self.ground.until_awake(self.scenario.hosts)
        read = settle(self.observer, plans)
        verdict = judge(self.observer, self.graph, plans, read, self.scenario.case.order, begun_ms=begun_ms)
        self._check_feed(read)
        return self._judged(verdict, plans)

    def _raise(self) -> None:
        """All processes that the scenario needs."""
        self.ground.raise_hosts(self.scenario.hosts)

    def _judged(self, verdict: Verdict, _plans: Sequence[SegmentPlan]) -> Verdict:
        """The verdict with what else there is to judge."""
        return verdict

    def _check_feed(self, read: Mapping[str, Sequence[Row]]) -> None:
        """What was fed must be there. After a kill of the broker a record may be there twice: input, too."""
        fed = {(self.topics[piece.source], piece.partition, piece.value) for piece in self.scenario.fed}
        found = {(topic, row.partition, row.value) for topic, rows in read.items() for row in rows}
        assert fed <= found, f"{len(fed - found)} records were not fed: the fault test itself is broken"

    def _happen(self) -> None:
        """All faults, each begun and ended at its time, while the feeder feeds."""
        arena = Arena(self.ground, self.flow, self.scenario.hosts)
        begun_s = time.monotonic()
        for at_s, fault, act in timeline(self.scenario.faults):
            time.sleep(max(0.0, begun_s + at_s - time.monotonic()))
            act(arena, fault)

    def _made(self) -> list[SegmentPlan]:
        """The flow's topics are made; its segments as hosts will see them."""
        admin = AdminClient({"bootstrap.servers": self.ground.bootstrap, "log_level": 0})
        count = self.scenario.partitions
        # Most sinks get the broker's time, by which gaps are measured; the others what a user's sink has by default.
        stamped = "CreateTime" if self.scenario.is_ahead else "LogAppendTime"
        config = {"retention.ms": "-1", "message.timestamp.type": stamped}

        def are_there() -> bool:
            missing = set(self.topics.values()) - set(admin.list_topics(timeout=TIMEOUT_S).topics)
            wanted = [NewTopic(topic, num_partitions=count, config=config) for topic in sorted(missing)]
            for made in admin.create_topics(wanted).values() if wanted else ():
                made.result(TIMEOUT_S)
            return not missing

        until(are_there, "there are topics")
        counts = dict.fromkeys(self.topics.values(), count)
        return [plan_segment(self.graph, segment.id, counts) for segment in self.graph.segments]

    def _place(self, plans: list[SegmentPlan]) -> None:
        """Submits the flow to hosts that chance chooses, and waits until it runs."""
        placed = self._placed(plans)
        until(lambda: self._write_placements(placed), "the flow is submitted")
        until(lambda: self._has_begun(placed), f"all of {sorted(placed)} run")

    def _placed(self, plans: list[SegmentPlan]) -> dict[Slot, str]:
        rng = random.Random(self.scenario.seed)
        return {
            (plan.segment.id, partition): rng.choice(self.scenario.hosts)
            for plan in plans
            for partition in range(plan.partitions)
        }

    def _write_placements(self, placed: Mapping[Slot, str]) -> bool:
        now_ms = time.time_ns() // 1_000_000
        entries = submitted(read_registry(self.ground.bootstrap), self.graph, self.text, placed, now_ms=now_ms)
        write(self.ground.bootstrap, [(topic, self._with_standbys(message)) for topic, message in entries])
        return True

    def _with_standbys(self, message: object) -> object:
        if not self.scenario.standbys or not isinstance(message, Placement):
            return message
        others = tuple(name for name in self.scenario.hosts if name != message.host)
        return msgspec.structs.replace(message, standbys=others)

    def _has_begun(self, placed: Mapping[Slot, str]) -> bool:
        statuses = read_registry(self.ground.bootstrap).statuses
        return all(slot in statuses and statuses[slot].state == "running" for slot in placed)

    def _withdraw(self) -> None:
        def done() -> bool:
            view = read_registry(self.ground.bootstrap)
            if self.flow in view.flows:
                write(self.ground.bootstrap, withdrawn(view, self.flow, now_ms=time.time_ns() // 1_000_000))
            return True

        until(done, "the flow is withdrawn")

    def _processes(self) -> tuple[str, ...]:
        """Those whose logs are evidence."""
        return self.scenario.hosts

    def _log_sizes(self) -> dict[str, int]:
        logs = {name: self.ground.log(name) for name in self._processes()}
        return {name: log.stat().st_size if log.exists() else 0 for name, log in logs.items()}

    def _keep_evidence(self, verdict: Verdict) -> Path:
        """What a person needs to understand a bad run: the scenario, the flow, the differences, the hosts' logs."""
        folder = EVIDENCE / f"{self.flow}"
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.scenario.hosts:
            self.ground.send(name, signal.SIGUSR1)
        time.sleep(WRITING_DOWN_S)
        (folder / "verdict.txt").write_text("\n".join([str(self.scenario), *verdict.problems]) + "\n")
        (folder / "flow.yaml").write_text(self.text)
        for name, start in self._log_starts.items():
            if self.ground.log(name).exists():
                (folder / f"{name}.log").write_bytes(self.ground.log(name).read_bytes()[start:])
        with suppress(NeverError):
            self._write_registry(folder / "registry.txt")
        return folder

    def _write_registry(self, file: Path) -> None:
        view = answer(lambda: read_registry(self.ground.bootstrap))
        lines = [f"{slot} {each}" for slot, each in sorted(view.placements.items()) if each.flow == self.flow]
        lines += [f"{slot} {each}" for slot, each in sorted(view.statuses.items()) if slot[0].startswith(self.flow)]
        file.write_text("\n".join(lines) + "\n")
