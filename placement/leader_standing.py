"""Standing: what a flow has. The plan that runs and where, the plan that is being carried out, which hosts died under
it, what it taps and whom it serves. The leader decides; this says what is, and what must be told when it changes."""

from dataclasses import replace

from placement.ants.effects import Send
from placement.ants.enforcement import Activation, Release
from placement.ants.order import Offer
from placement.leader_attempt import Attempt, Bounds, Reason
from placement.leader_events import CutOff, ServedFrom, TapAsked
from placement.leader_taps import Enforcing, Grants, ended
from placement.model import Flow, Placement, Plan

Sites = dict[int, str]
"""Task -> where its results come from: a host, or the task of another flow wherever that runs."""


class Standing:
    """Of one flow, as its leader knows it."""

    def __init__(self, flow: Flow, plan: Plan | None) -> None:
        """`plan` is what the registry says runs. Whom it taps the leader has to find out anew: it places itself."""
        self.flow = flow
        self.plan = plan
        self.enforcing: Enforcing | None = None
        self.dead: set[str] = set()
        """Hosts of the running plan that were lost: nothing of the flow runs there any more."""
        self.cut: CutOff | None = None
        """Its hosts live, but its data do not get from one to the next."""
        self.taps: dict[int, Offer] = {}
        """Task -> what the running plan taps for it."""
        self.avoided: set[str] = set()
        """Flows that would not serve, or have said that they will not for long."""
        self.grants = Grants()
        self.ended_epoch = -1
        """The newest epoch whose room it has given up without another place."""
        self._strange_taps = plan is not None and bool(plan.placement.taps)

    @property
    def running(self) -> dict[int, str]:
        """Task -> host of the plan that runs."""
        if self.plan is None:
            return {}
        index = self.flow.graph.task_index
        return {index[task]: host for _, task, host in self.plan.placement.spots}

    @property
    def where(self) -> dict[int, str]:
        """Task -> host its results come from, run or tapped."""
        return self.running | {task: offer.host for task, offer in self.taps.items()}

    @property
    def placement(self) -> Placement:
        """What runs."""
        return self.plan.placement if self.plan is not None else Placement()

    @property
    def enforced_taps(self) -> dict[int, Offer]:
        """Task -> what the plan that is being carried out would tap."""
        return self.enforcing.taps if self.enforcing is not None else {}

    @property
    def tapped_flows(self) -> frozenset[str]:
        """Flows that serve this one, or are about to."""
        return frozenset(offer.flow for offer in (*self.taps.values(), *self.enforced_taps.values()))

    def why_look(self) -> Reason:
        """For what reason a leader would look for a place now."""
        if self.plan is None:
            return Reason.FIRST
        if self.dead:
            return Reason.LOST
        unserved = any(offer.flow in self.avoided for offer in self.taps.values())
        if unserved or self._strange_taps:
            return Reason.UNSERVED
        return Reason.CUT_OFF if self.cut is not None else Reason.WATCH

    def bounds(self, seniority: int) -> Bounds:
        """What scouts have to respect."""
        index = self.flow.graph.task_index
        alive = {task: host for task, host in self.running.items() if host not in self.dead}
        kept = tuple(sorted(index[task] for task in self.grants.tasks))
        mute = self.cut.mute if self.cut is not None else ()
        return Bounds(alive, kept, tuple(sorted({*self.avoided, *mute})), seniority)

    def stopped_by(self, attempt: Attempt) -> list[str]:
        """Tasks that others tap and that would stop."""
        index = self.flow.graph.task_index
        return sorted(task for task in self.grants.tasks if index[task] not in attempt.placed)

    def moves_to(self, attempt: Attempt) -> tuple[tuple[int, str], ...]:
        """(task, new site) of every task that would move."""
        before, after = _sites(self.running, self.taps), _sites(attempt.placed, attempt.taps)
        return tuple((task, site) for task, site in sorted(after.items()) if before.get(task) != site)

    def refusal(self, asked: TapAsked, *, ending: bool) -> str:
        """Why nobody may tap that task now; empty if they may."""
        host = self.running.get(self.flow.graph.task_index.get(asked.task, -1))
        if ending:
            return "the flow is ending"
        if host is None or host in self.dead:
            return f"{asked.task} does not run"
        enforcing = self.enforcing
        if enforcing is not None and enforcing.plan.placement.host_of(self.flow.name, asked.task) is None:
            return f"{asked.task} is about to stop"
        return ""

    def served_from(self, news: ServedFrom) -> None:
        """A task that this flow taps has moved."""
        for taps in (self.taps, self.enforced_taps):
            for task, offer in taps.items():
                if (offer.flow, offer.task) == (news.flow, news.task):
                    taps[task] = replace(offer, host=news.host)

    def switch(self, *, home: str) -> tuple[list[Send], Sites]:
        """The enforced plan runs now: what to tell hosts and other leaders, and the sites that tasks have left."""
        enforcing = self.enforcing
        assert enforcing is not None
        name, epoch = self.flow.name, enforcing.plan.epoch
        before, tapped_before = self.running, self.taps
        self.plan, self.taps, self.enforcing, self._strange_taps = enforcing.plan, enforcing.taps, None, False
        self.dead.clear()
        self.cut = None
        self.avoided.clear()
        kept = set(self.running.values())
        sites = _sites(self.running, self.taps)
        earlier = Release(name, epoch - 1)
        told = [Send(host, Activation(name, epoch, home)) for host in sorted(kept)]
        told += [Send(host, earlier) for host in sorted(set(before.values()) - kept)]
        told += ended(tapped_before.values(), earlier)
        told += self.grants.tell_moved(name, {task: host for _, task, host in self.plan.placement.spots})
        left = {task: site for task, site in _sites(before, tapped_before).items() if sites.get(task) != site}
        return told, left

    def let_go(self, epoch: int) -> list[Send]:
        """A part of the flow is dead and there is no place for it: what is left of it makes way."""
        self.ended_epoch = epoch
        self.dead.clear()
        self.cut, self._strange_taps = None, False
        return self.end(epoch)

    def correct(self, where: dict[int, str], epoch: int) -> tuple[list[Send], Sites]:
        """These tasks run elsewhere than planned, under that epoch from now on: what to tell hosts and other leaders,
        and the hosts that tasks did not get to. Hosts where they run book that by the registry."""
        assert self.plan is not None
        before, name = self.running, self.flow.name
        tasks, taps = self.flow.tasks, self.plan.placement.taps
        spots = {(name, tasks[task].name): host for task, host in (before | where).items()}
        self.plan = Plan(name, epoch, Placement.of(spots, taps), ())
        gone = set(before.values()) - set(self.running.values())
        told = [Send(host, Release(name, epoch - 1)) for host in sorted(gone)]
        told += self.grants.tell_moved(name, {task: host for _, task, host in self.plan.placement.spots})
        return told, {task: before[task] for task, host in where.items() if before[task] != host}

    def end(self, epoch: int) -> list[Send]:
        """The flow ends: what to tell hosts and the leaders that served it."""
        hosts, taps = set(self.running.values()), [*self.taps.values(), *self.enforced_taps.values()]
        if self.enforcing is not None:
            hosts |= {stop.host for stop in self.enforcing.ant.stops if stop.mask}
        self.plan, self.enforcing, self.taps = None, None, {}
        news = Release(self.flow.name, epoch)
        return [*(Send(host, news) for host in sorted(hosts)), *ended(taps, news)]


def _sites(placed: dict[int, str], taps: dict[int, Offer]) -> Sites:
    return placed | {task: f"{offer.flow}/{offer.task}" for task, offer in taps.items()}
