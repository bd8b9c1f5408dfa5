"""Witness: watches a run go by and remembers, for invariants that no single moment shows.

Trails without cycles, plans that are committed before they run, epochs that rise, no task back at a host inside the
cool-down. It sees every message and decision that the body tells its observers of.
"""

import math
from typing import Any

from placement.ants.enforcement import EnforcementAnt, Pass
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.cell_ledger import State
from placement.leader_attempt import Reason
from placement.leader_events import Published
from placement.simulator.body import Body


class Witness:
    """An observer; `faults` holds what it has seen go wrong since it was last asked."""

    def __init__(self) -> None:
        self.body: Body | None = None
        self._faults: list[str] = []
        self._epochs: dict[str, int] = {}
        self._left_ms: dict[tuple[str, str, str], float] = {}

    def __call__(self, now_ms: float, where: str, what: Any) -> None:
        """See one event."""
        if isinstance(what, RoutingAnt | ScoutingAnt):
            hosts = what.trail.hosts
            if len(set(hosts)) < len(hosts):
                self._faults.append(f"{where}: an ant's trail has a cycle: {' '.join(hosts)}")
        elif isinstance(what, EnforcementAnt):
            if what.phase is Pass.COMMIT and what.epoch <= self._epochs.get(what.flow.name, 0):
                self._faults.append(f"{where}: epoch {what.epoch} of {what.flow.name} commits after it has ended")
        elif isinstance(what, Published):
            self._publish(what, now_ms)

    def faults(self) -> list[str]:
        """What went wrong since the last question."""
        found, self._faults = self._faults, []
        return found

    def _publish(self, what: Published, now_ms: float) -> None:
        assert self.body is not None
        plan, flow, damage = what.plan, what.plan.flow, self.body.damage
        if plan.epoch <= self._epochs.get(flow, 0):
            self._faults.append(f"{flow}: epoch {plan.epoch} is published after epoch {self._epochs[flow]}")
        self._epochs[flow] = plan.epoch
        if what.reason == Reason.FIRST.value:  # a new leader remembers nothing of an earlier one
            self._left_ms = {move: at_ms for move, at_ms in self._left_ms.items() if move[0] != flow}
        # A commitment may have died with its host, which may be back, empty.
        lately_dead = damage.died_since(now_ms - self.body.ants.enforcement.activation_ms)
        for host in sorted({host for _, _, host in plan.placement.spots} - lately_dead):
            held = {b.epoch: b.state for b in self.body.cells[host].ledger.bookings() if b.flow == flow}
            if held.get(plan.epoch) is not State.COMMITTED:
                self._faults.append(f"{flow}: epoch {plan.epoch} runs, but {host} has not committed to it")
        leaders = self.body.leaders[flow].params
        cool_ms = leaders.cool_down_rounds * leaders.watch_every_ms
        for move in plan.moves:
            ago_ms = now_ms - self._left_ms.get((flow, move.task, move.target or ""), -math.inf)
            # While something is dead a flow may be cut off where it runs, and then goes wherever it can.
            if ago_ms < cool_ms and what.reason == Reason.WATCH.value and damage.unharmed_ms(now_ms) > cool_ms:
                self._faults.append(f"{flow}/{move.task} is back at {move.target} after {ago_ms:.0f} ms")
            if move.origin is not None:
                self._left_ms[flow, move.task, move.origin] = now_ms
