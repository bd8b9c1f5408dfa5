"""One cell of the matrix, played on its ground: the flow is placed by ants, a segment moves, somebody is hurt.

place ──> feed ──> ask for the move ──> hold at the phase ──> hurt ──> go on ──> heal ──> rest ──> judge
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.host.segment_plan import SegmentPlan
from services.registry.asking import ENDS, answers_to, ask
from services.registry.changes import submitted
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView, Slot
from services.registry.write import write
from tests.chaos.ground import answer, until
from tests.chaos.moves.ground import MoveGround
from tests.chaos.moves.holds import Armed
from tests.chaos.moves.matrix import HOSTS, INSTANCES, Cell
from tests.chaos.moves.owners import judge_owners
from tests.chaos.run import Run
from tests.chaos.verdict import Verdict
from topics import catalogue
from topics.messages import FlowRevision, MoveRecord, Placement

REST_S_MAX = 60.0
"""So long after the last wound has healed everything must be at rest, whatever happened."""
REST_POLL_S = 0.5
PLACING_S_MAX = 240.0
"""On a crowded machine ants may come back too late; then the leader waits, and each time longer, to try again."""
ENDED = ("done", "rolled_back", "abandoned")
HOLDING_PROCESS = {
    "warming": "target",
    "draining": "origin",
    "committing": "origin",
    "fencing": "target",
    "catching_up": "target",
    "activating": "target",
    "returning": "origin",
}
"""Who comes to the point at which a phase is held; at the other points it is the active instance, whoever that is."""


@dataclass(frozen=True)
class CellOutcome:
    """How a cell went. `rest_s`: how long it took to come to rest after the healing; `ends`: how its moves ended."""

    cell: Cell
    verdict: Verdict
    took_s: float
    evidence: Path | None
    rest_s: float
    ends: Counter[str]

    @property
    def line(self) -> str:
        """The cell in one line, and what is wrong below it."""
        verdict = self.verdict
        told = f"rest after {self.rest_s:.1f} s, {verdict.results} results, gap {verdict.gap_s:.1f} s"
        moves = ", ".join(f"{count} {end}" for end, count in sorted(self.ends.items()))
        state = "ok  " if verdict.is_good else "BAD "
        line = f"{state}{self.cell} ({self.cell.case.name}, {self.cell.delivery}): {told}; moves: {moves or 'none'}"
        if verdict.is_good:
            return line
        recipe = f"again: python -m tests.chaos.moves {self.cell.recipe}"
        return "\n  ".join([line, *verdict.problems, recipe, f"evidence: {self.evidence}"])


class MoveRun(Run):
    """`play_cell` once."""

    def __init__(self, cell: Cell, ground: MoveGround, *, rest_s_max: float = REST_S_MAX) -> None:
        super().__init__(cell.scenario, ground)
        self.cell = cell
        self._rest_s_max = rest_s_max
        self.rest_s = 0.0
        self.ends: Counter[str] = Counter()
        self._ground = ground
        self._segment, self._partitions = "", 0
        self._slots: set[Slot] = set()
        self._roles: dict[str, str] = {"broker": "broker", "redis": "redis"}

    def play_cell(self) -> CellOutcome:
        """From the first process to the verdict."""
        return CellOutcome(self.cell, *self._tried(), self.rest_s, self.ends)

    def _processes(self) -> tuple[str, ...]:
        return (*HOSTS, *INSTANCES)

    def _raise(self) -> None:
        self._ground.raise_all()

    def _place(self, plans: list[SegmentPlan]) -> None:
        """By ants. Then the segment that is to move leaves the leader's host, so that these are two."""
        until(self._write_flow, "the flow is submitted")
        self._slots = {(plan.segment.id, number) for plan in plans for number in range(plan.partitions)}
        until(
            lambda: self._all_run(read_registry(self.ground.bootstrap)),
            "the ants have placed the flow, and it runs",
            patience_s=PLACING_S_MAX,
        )
        leader = answer(lambda: read_registry(self.ground.bootstrap).plans[self.flow].leader)
        rng = self.cell.rng("roles")
        moving = rng.choice(plans)
        self._segment, self._partitions = moving.segment.id, moving.partitions
        others = [name for name in HOSTS if name != leader]
        origin, target = rng.sample(others, k=2)
        self._roles |= {"leader": leader, "origin": origin, "target": target}
        self._ask_until(origin, lambda: {origin} == self._owners() and self._is_at_rest())

    def _happen(self) -> None:
        """The fault in its phase, while the feeder feeds."""
        rng = self.cell.rng("instant")
        time.sleep(rng.uniform(0.3, 1.5))
        holder = HOLDING_PROCESS.get(self.cell.phase)
        partition = rng.randrange(self._partitions)
        holds = self._ground.holds
        holds.arm(Armed(self.cell.phase, self._segment, partition, self._roles[holder] if holder else None))
        if self.cell.phase == "returning":
            holds.refuse(Armed("refused", self._segment, partition, self._roles["target"]))
        self._ask_until(self._roles["target"], holds.reached)
        if holder is None:
            self._roles["active"] = str(holds.reached())
        elif self.cell.victim == "active":
            self._roles["active"] = self._found_active()
        victim, hurt = self._roles[self.cell.victim], self.cell.hurt
        self._ground.hurt(victim, hurt)
        try:
            holds.clear()
            if hurt != "kill":
                time.sleep(self.cell.lasts_s)
        finally:
            if hurt != "kill":
                self._ground.heal(victim, hurt)
        self._ground.until_services_are_ready()  # a killed broker takes as long to start as the machine is busy
        healed_s = time.monotonic()
        until(self._is_at_rest, "all moves have ended and all partitions run", patience_s=self._rest_s_max)
        self.rest_s = time.monotonic() - healed_s
        self.ends = Counter(move.phase for move in answer(self._moves))
        if hurt == "kill":
            self._ground.heal(victim, hurt)

    def _judged(self, verdict: Verdict, plans: Sequence[SegmentPlan]) -> Verdict:
        judge_owners(verdict, self.observer, self.flow, plans)
        ended = self._ground.ended()
        if ended:
            verdict.note(f"{len(ended)} processes have ended by themselves", ended)
        return verdict

    def _write_flow(self) -> bool:
        now_ms = time.time_ns() // 1_000_000
        entries = submitted(read_registry(self.ground.bootstrap), self.graph, self.text, {}, now_ms=now_ms)
        write(self.ground.bootstrap, [each for each in entries if isinstance(each[1], FlowRevision)])
        return True

    def _ask_until(self, host: str, holds: Callable[[], object]) -> None:
        """Asks for all partitions of the segment to move to this host; again if that was refused, or led elsewhere."""
        asked: list[str] = []

        def is_so() -> bool:
            if holds():
                return True
            answers = answers_to(self.ground.bootstrap, asked[-1]) if asked else []
            if not asked or (any(each.kind in ENDS for each in answers) and self._is_calm()):
                asked.append(self._asked(host))
            return False

        until(is_so, f"{self._segment} moves to {host}, and holds while {self.cell.phase}")

    def _asked(self, host: str) -> str:
        partitions = tuple(range(self._partitions))
        return ask(self.ground.bootstrap, "move", self.flow, segment=self._segment, partitions=partitions, host=host)

    def _found_active(self) -> str:
        found: list[str] = []

        def look() -> bool:
            name = self._ground.active()
            found.extend([name] if name is not None else [])
            return name is not None

        until(look, "an instance is active")
        return found[-1]

    # How it stands.

    def _owners(self) -> set[str | None]:
        view = read_registry(self.ground.bootstrap)
        return {each.host for each in self._placements(view) if each.segment == self._segment}

    def _placements(self, view: RegistryView) -> list[Placement]:
        return [each for each in view.placements.values() if each.flow == self.flow and each.host is not None]

    def _moves(self) -> list[MoveRecord]:
        moves = read_registry(self.ground.bootstrap, catalogue.MOVES).moves.values()
        return [move for move in moves if move.flow == self.flow]

    def _is_at_rest(self) -> bool:
        """All partitions run where the registry says, no move is under way, and it stays so."""
        if not self._is_calm():
            return False
        time.sleep(REST_POLL_S)
        return self._is_calm()

    def _is_calm(self) -> bool:
        view = read_registry(self.ground.bootstrap)
        return (
            all(move.phase in ENDED for move in self._moves())
            and all(each.origin is None for each in self._placements(view))
            and self._all_run(view)
        )

    def _all_run(self, view: RegistryView) -> bool:
        placed = self._placements(view)
        return self._slots == {(each.segment, each.partition) for each in placed} and all(
            self._runs(view, each) for each in placed
        )

    def _runs(self, view: RegistryView, placement: Placement) -> bool:
        told = view.statuses.get((placement.segment, placement.partition))
        return (
            told is not None
            and (told.host, told.epoch, told.state) == (placement.host, placement.epoch, "running")
            and self.ground.is_running(str(placement.host))
        )
