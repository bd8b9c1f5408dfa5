"""Taps, seen from both leaders: who taps this flow, and what a plan that is being carried out still waits for.

A tapped task must not stop while it is tapped. So the leader of the flow that serves is asked before the tapper's plan
runs, and counts the tap from its consent until the tapper releases or cancels that epoch (decision 50).
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from placement.ants.effects import Send
from placement.ants.enforcement import Cancellation, EnforcementAnt, Release
from placement.ants.letters import Letter
from placement.ants.order import Offer
from placement.leader_events import ServedFrom, ServingEnds, TapAnswered, TapAsked
from placement.model import Plan


class Grants:
    """Who taps this flow."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[str, frozenset[str]]] = {}
        """(tapper, epoch of its plan) -> where its leader lives, the tasks it taps."""

    @property
    def tasks(self) -> frozenset[str]:
        """Tasks that must go on."""
        return frozenset(task for _, tasks in self._held.values() for task in tasks)

    @property
    def tappers(self) -> tuple[str, ...]:
        """Flows that tap this one, in order."""
        return tuple(sorted({by for by, _ in self._held}))

    def held(self) -> list[tuple[str, int]]:
        """(tapper, epoch) of every tap, in order."""
        return sorted(self._held)

    def add(self, asked: TapAsked) -> None:
        """Count a tap."""
        _, tasks = self._held.get((asked.by, asked.epoch), ("", frozenset()))
        self._held[asked.by, asked.epoch] = asked.home, tasks | {asked.task}

    def end(self, news: Release | Cancellation) -> None:
        """A tapper released all epochs up to one, or cancelled one."""
        upto = isinstance(news, Release)
        ended = [
            key
            for key in self._held
            if key[0] == news.flow and (key[1] <= news.epoch if upto else key[1] == news.epoch)
        ]
        for key in ended:
            del self._held[key]

    def forget(self, home: str) -> None:
        """A host died, and with it the leaders that lived there: their flows have ended."""
        self._held = {key: held for key, held in self._held.items() if held[0] != home}

    def tell_ending(self, flow: str) -> list[Send]:
        """Tell all tappers to find another way."""
        homes = {(by, home) for (by, _), (home, _) in self._held.items()}
        return [Send(home, Letter(by, ServingEnds(flow))) for by, home in sorted(homes)]

    def tell_moved(self, flow: str, hosts: dict[str, str]) -> list[Send]:
        """Tell all tappers where the tasks that they tap run now: task name -> host."""
        taps = {(by, home, task) for (by, _), (home, tasks) in self._held.items() for task in tasks}
        return [Send(home, Letter(by, ServedFrom(flow, task, hosts[task]))) for by, home, task in sorted(taps)]


def answer(asked: TapAsked, flow: str, why_not: str) -> Send:
    """The answer to a leader that wants to tap."""
    return Send(asked.home, Letter(asked.by, TapAnswered(asked.epoch, flow, asked.task, why_not)))


def ended(offers: Collection[Offer], news: Release | Cancellation) -> list[Send]:
    """Tell the leaders that serve that taps have ended."""
    return [Send(home, Letter(flow, news)) for home, flow in sorted({(offer.home, offer.flow) for offer in offers})]


@dataclass(slots=True)
class Enforcing:
    """The plan that an enforcement ant is carrying out, and what its activation waits for."""

    plan: Plan
    ant: EnforcementAnt
    taps: dict[int, Offer]
    sent_ms: float
    committed: bool = False
    heard: bool = False
    """Its ant is back, with whatever news."""
    granted: set[str] = field(default_factory=set)
    """flow/task of the taps that were granted."""

    @property
    def complete(self) -> bool:
        """Whether every host has committed and every leader that serves has agreed."""
        wanted = {f"{offer.flow}/{offer.task}" for offer in self.taps.values()}
        return self.committed and wanted <= self.granted

    def ask(self) -> list[Send]:
        """Ask the leaders of the flows that are to serve."""
        ant = self.ant
        return [
            Send(offer.home, Letter(offer.flow, TapAsked(ant.flow.name, ant.epoch, ant.home, offer.task)))
            for _, offer in sorted(self.taps.items())
        ]

    @property
    def hosts(self) -> list[str]:
        """Where it books room."""
        return [stop.host for stop in self.ant.stops if stop.mask]

    def cancel(self, unheard: Collection["Enforcing"] = ()) -> list[Send]:
        """Give it up: its epoch is dead, wherever its ant may still be.

        `unheard`: earlier ones that were given up and whose ants were never heard of. Word of that may have been lost
        with them, so it is said again to hosts that hear of this one (decision 340).
        """
        flow, epoch = self.plan.flow, self.plan.epoch
        told = [
            Send(host, Cancellation(flow, each.plan.epoch))
            for host in self.hosts
            for each in (*unheard, self)
            if host in each.hosts
        ]
        return [*told, *ended(self.taps.values(), Cancellation(flow, epoch))]
