"""Succession: what a leader begins with, and what becomes of the one before it.

A leader that takes a flow over begins with what the registry knows, the running plan, its epoch and what plans did not
get, and publishes that plan under its own term: what the leader before may still have on its way then counts for
nothing. Another one follows here, too, where the flow has changed, a person has approved a plan or others have placed
what was lost: a leader has its flow and its plan from birth. Whoever follows, epochs count on, also from those that
came to nothing and that the registry never heard of.
"""

import math
from collections.abc import Callable, Mapping

import msgspec
import structlog

from placement.ants.effects import Send, SetTimer
from placement.leader import Leader
from placement.leader_events import HostLost, Place, Withdraw
from placement.leader_params import LeaderParams
from placement.leader_phases import Phase
from placement.model import Placement, Plan
from services.host.cell.body import CellBody, brain_ms
from services.host.cell.chronicle import Chronicle
from services.host.cell.led import Led, Surface
from services.host.cell.turns import Turns
from services.host.cell.vain_tries import recall
from topics.messages import CommittedPlan

log = structlog.get_logger(__name__)

EPOCHS_A_TERM = 1_000
"""The epochs of a term begin at its number times this. A term is an offset in the log of leases, to which every holder
writes once a second: no leader books so often (decision 358)."""


class Succession:
    """Of the leaders of one host: each of its methods lets a new leader live in the body. `plan`: the registry's."""

    def __init__(
        self,
        body: CellBody,
        turns: Turns,
        chronicle: Chronicle,
        params: LeaderParams,
        *,
        now_ms: Callable[[], float],
    ) -> None:
        self._body = body
        self._turns = turns
        self._chronicle = chronicle
        self._params = params
        self._now_ms = now_ms
        self._counted: dict[str, int] = {}
        """Flow -> the last epoch of its last leader here, who may come back in the same term."""

    def begin(self, led: Led, plan: CommittedPlan | None, surface: Surface) -> None:
        """Take a flow over with what the registry knows of it."""
        name, running = led.name, _running(plan, led)
        led.in_vain = plan.in_vain if plan is not None and plan.revision == led.revision else ()
        known = (plan.epoch if plan is not None else 0, led.term * EPOCHS_A_TERM, self._counted.pop(name, 0))
        self._lead(led, surface, last_epoch=max(known), running=running)
        if plan is not None and running is not None and plan.term < led.term:
            self._chronicle.taken_over(msgspec.structs.replace(plan, term=led.term, leader=self._body.host))
        log.info("leads a flow", flow=name, revision=led.revision, term=led.term, takes_over=running is not None)
        if running is None:
            self._turns.soon(name, Place())
            return
        gone = sorted({host for _, _, host in running.placement.spots} - set(surface.regions))
        for host in gone:
            self._turns.soon(name, HostLost(host))
        if not gone:
            self._look_around_later(name)

    def pause(self, flow: str) -> None:
        """The flow is not led here at the moment. A lease that was thought lost may turn out to be held."""
        leader = self._body.leaders.get(flow)
        if leader is not None:
            self._counted[flow] = leader.epoch
        self._body.retire(flow)

    def forget(self, flow: str) -> None:
        """The lease is given up: whoever leads the flow next does so in another term."""
        self._counted.pop(flow, None)

    def replace(self, led: Led, surface: Surface) -> None:
        """The user changed the flow, or it taps something else: what was booked ends, and it is placed as it is now."""
        name = led.name
        before = self._body.leaders[name]
        effects = before.step(Withdraw(), now_ms=brain_ms(), rng=self._body.chance(f"leader/{name}"))
        self._body.set_off([effect for effect in effects if isinstance(effect, Send)])
        self._body.retire(name)
        self._lead(led, surface, last_epoch=before.epoch, running=None)
        self._turns.soon(name, Place())

    def adopt(self, led: Led, plan: CommittedPlan | None, surface: Surface) -> None:
        """If a person approved what the leader had only proposed: go on with that as what runs.

        Cells book it by themselves, as they do with every plan of the registry whose leader they have not heard.
        """
        name, running = led.name, _running(plan, led)
        before = self._body.leaders[name]
        if running is None or before.plan is None or before.phase is not Phase.RESTING:
            return
        if running.epoch < before.plan.epoch or running.placement == before.plan.placement:
            return  # it has yet to be read what this leader committed, or this is it
        log.info("goes on with an approved plan", flow=name, epoch=running.epoch)
        self.lead_on(led, running, surface)

    def lead_on(self, led: Led, running: Plan, surface: Surface) -> None:
        """Go on with what runs now, whatever the leader thought that runs or looked for."""
        before = self._body.leaders[led.name]
        self._body.retire(led.name)
        self._lead(led, surface, last_epoch=max(before.epoch, running.epoch), running=running)
        led.now_cost_ms = math.nan
        self._look_around_later(led.name)

    def _lead(self, led: Led, surface: Surface, *, last_epoch: int, running: Plan | None) -> None:
        leader = Leader(
            led.model.flow,
            self._params,
            self._body.cell.params,
            fastest_capacity=max(surface.capacities.values()),
            now_ms=brain_ms(),
            last_epoch=last_epoch,
            running=running,
            home=self._body.host,
        )
        recall(led.in_vain, leader, now_ms=brain_ms(), broker_ms=self._now_ms())
        self._body.lead(leader)

    def _look_around_later(self, name: str) -> None:
        """It is placed: look around in a while, and not together with everybody else."""
        wait_ms = self._params.watch_every_ms * (1 + self._body.chance(f"leader/{name}").random())
        self._body.set_off([SetTimer(name, "rest", brain_ms() + wait_ms)])


def _running(plan: CommittedPlan | None, led: Led) -> Plan | None:
    """What the registry says runs of this revision of a flow; None if that is not all of it, or taps something else."""
    names = {task.name for task in led.model.flow.tasks}
    if plan is None or plan.revision != led.revision or set(plan.hosts) != names or set(plan.taps) != set(led.taps):
        return None
    return running_plan(plan.flow, plan.epoch, plan.hosts)


def running_plan(flow: str, epoch: int, hosts: Mapping[str, str]) -> Plan:
    """What a leader begins with that goes on from there. `hosts`: of each segment."""
    return Plan(flow, epoch, Placement.of({(flow, segment): host for segment, host in hosts.items()}), ())
