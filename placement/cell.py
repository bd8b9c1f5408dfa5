"""Cell: what one host knows, and the place where ants meet it.

A cell is a state machine: `hear` takes one message and gives the effects that follow. It holds the host's pheromone,
the scents it smelled, what it knows of the hosts around it, and the ledger of what the host has promised.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from placement.ants import enforcement, measuring, routing, scouting
from placement.ants.desk import Desk, Stamp
from placement.ants.effects import Home, Lost, Send
from placement.ants.enforcement import Activation, Cancellation, EnforcementAnt, Release
from placement.ants.host_view import HostView
from placement.ants.letters import Letter, home_or_letter
from placement.ants.measuring import MeasuringAnt
from placement.ants.order import Anchor, Serving
from placement.ants.params import AntParams
from placement.ants.programme import Distances
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import Failures, ScoutingAnt
from placement.ants.surroundings import Digest, Surroundings
from placement.atlas import Atlas, AtlasNow
from placement.cell_ledger import Ledger, State
from placement.chance import Chance
from placement.leader_events import Crowded, HostLost
from placement.model import Flow
from placement.pheromone import PheromoneTable
from placement.queueing import IDLE, Load, load_of, wait_ms
from placement.scent import Announce, Scent, ScentMap, ScentParams

Effect = Send | Home | Lost
Delay = Callable[[str, str], float]
"""Measured delay of data between two hosts."""
Age = Callable[[str, str], float | None]
"""(flow, task): how old messages are, on average, when they leave that task; None while nobody measures it."""

_MAX_PARKED = 256
_ASK_AGAIN_MS = 1_000.0
_CROWDED_FACTOR, _CROWDED_MS = 1.25, 0.5
"""A queue has become much longer if its wait grew by a quarter and half a millisecond."""


class UnknownMessageError(TypeError):
    """A message that no rule of a cell handles: our bug, or a newer version's ant."""


def _unmeasured(_flow: str, _task: str) -> float | None:
    return None


class Cell:
    """One host's cell."""

    def __init__(
        self,
        host: str,
        capacity: float,
        links_ms: Mapping[str, float],
        params: AntParams,
        *,
        delay: Delay,
        direct: bool,
        background: Load = IDLE,
        age: Age = _unmeasured,
        loop: Callable[[str], float] | None = None,
        atlas: AtlasNow | None = None,
        born: int = 0,
    ) -> None:
        """`delay` measures the way of data; `direct`: it is known between all hosts (overlay), so scouts may use it.

        `age` measures messages that leave a task here: a task whose age is not measured is not offered for reuse.
        `loop` measures the way of data from a host to itself, where that is more than nothing.
        `born`: more than any cell of this host has counted to before, so that what it tells is not taken for old news.
        """
        self.host = host
        self.capacity = capacity
        self.params = params
        self.links_ms: dict[str, float] = dict(sorted(links_ms.items()))
        self.pheromone = PheromoneTable(self.links_ms, params.pheromone)
        self.scents = ScentMap(host, params.scent or ScentParams(), epoch=born)
        self.surroundings = Surroundings(host, params.surroundings, serial=born)
        self.ledger = Ledger(background)
        self.desk = Desk()
        self.distances = Distances(exact=delay if direct else None, link=self._link_ms)
        if loop is not None:
            self.distances = self.distances._replace(loop=loop)
        self._view = HostView(host, capacity, background, tuple(self.links_ms.items()))
        self.failures: dict[tuple[str, tuple[str, ...]], Failures] = {}
        self._delay = delay
        self._age = age
        self._atlas = atlas
        self._wait: tuple[Load | None, float] = None, 0.0
        self._parked: list[RoutingAnt | ScoutingAnt] = []
        self._asked_ms: dict[str, float] = {}
        self._reacts: dict[type, Callable[[Any, float, Chance], list[Effect]]] = {
            RoutingAnt: self._walker,
            ScoutingAnt: self._walker,
            Scent: self._smell,
            Announce: lambda _, now_ms, rng: [*self.scents.announce(self.links_ms)],
            Digest: self._told,
            EnforcementAnt: self._enforce,
            MeasuringAnt: self._measured_by,
            Letter: lambda letter, now_ms, rng: [Home(letter.flow, letter.news)],
            Activation: self._book,
            Cancellation: self._book,
            Release: self._book,
        }

    # What ants see of a cell.

    def queue_wait_ms(self) -> float:
        """Mean wait in this host's server queue, bounded: a full host delays ants, it does not hold them for ever."""
        load = self.ledger.load()
        if self._wait[0] is not load:
            self._wait = load, min(wait_ms(load), 1_000.0)
        return self._wait[1]

    def view(self, *, without_flow: str = "") -> HostView:
        """This host as an ant prices it."""
        load = self.ledger.load(without_flow=without_flow)
        if without_flow:
            return HostView(self.host, self.capacity, load)
        if self._view.load is not load:
            self._view = replace(self._view, load=load)
        return self._view

    def near(self) -> list[tuple[HostView, float]]:
        """Hosts around this one."""
        return self.surroundings.near()

    def serving(self) -> list[tuple[Serving, float]]:
        """The tasks that run here and around here and that other flows may tap, with their distance."""
        return [*((task, 0.0) for task in self._serves()), *self.surroundings.serving()]

    def age_ms(self, flow: str, task: str) -> float | None:
        """How old messages are when they leave a task that runs here; None if it does not, or nobody measures it."""
        runs = any((each.offer.flow, each.offer.task) == (flow, task) for each in self.ledger.serving())
        return self._age(flow, task) if runs else None

    def _serves(self) -> list[Serving]:
        found = []
        for task in self.ledger.serving():
            age_ms = self._age(task.offer.flow, task.offer.task)
            if age_ms is not None:
                found.append(replace(task, offer=replace(task.offer, age_ms=age_ms)))
        return found

    def near_ms(self) -> dict[str, float]:
        """Distances of the hosts around this one."""
        return self.surroundings.near_ms()

    def stamp(self, ends: Sequence[str]) -> Stamp:
        """Changes whenever the prices that scouts find here may have changed, or the ways to these ends."""
        return self.view(), self.surroundings.version, self.scents.stamp(ends)

    def travel_ms(self, target: str) -> float:
        """Delay of data from this host to another it sends to, or to itself."""
        return self.distances.loop(self.host) if target == self.host else self._delay(self.host, target)

    def arrival_ms(self, origin: str) -> float:
        """Delay of data from another host, or from itself, to this one."""
        return self.distances.loop(self.host) if origin == self.host else self._delay(origin, self.host)

    def atlas(self) -> Atlas | None:
        """All hosts and the delays between them, where every host reaches every other."""
        return self._atlas() if self._atlas is not None else None

    def straight_ms(self, destination: str) -> float:
        """Delay of the shortest way to a destination that this cell knows of; infinite if it knows none."""
        atlas = self.atlas()
        if atlas is not None and atlas.knows(self.host, destination):
            return atlas.shortest_ms(self.host, destination)
        smelled_ms = self.scents.distance_ms(destination)
        return math.inf if smelled_ms is None else smelled_ms

    def anchor_ms(self, host: str, offset_ms: float, pull: Anchor) -> float:
        """Delay between a host near this cell and an end that pulls at a task; 0 while nothing is known of it."""
        anchor = pull.host
        if not anchor or host == anchor:
            return self.distances.loop(host) if anchor else 0.0
        origin, target = (anchor, host) if pull.upstream else (host, anchor)
        atlas = self.atlas()
        if atlas is not None and not pull.exact and atlas.knows(origin, target):
            # The branch between them has tasks, which may sit on hosts that make the way shorter.
            return atlas.shortest_ms(origin, target)
        if self.distances.exact is not None:
            direct_ms = self.distances.exact(origin, target)
            if direct_ms is not None:
                return direct_ms
        via = self.surroundings.via(host) or host
        told_ms = self.scents.neighbour_distance_ms(via, anchor)
        if told_ms is not None:
            return told_ms + max(0.0, offset_ms - self.links_ms.get(via, offset_ms))
        here_ms = self.scents.distance_ms(anchor)
        return 0.0 if here_ms is None else here_ms + offset_ms

    # Events.

    def hear(self, message: Any, *, now_ms: float, rng: Chance) -> list[Effect]:
        """Take one message."""
        react = self._reacts.get(type(message))
        if react is None:
            kind = type(message).__name__
            raise UnknownMessageError(f"cell of {self.host}: no rule for {kind}; is a body newer than its brain?")
        return react(message, now_ms, rng)

    def tell(self, *, always: bool = False) -> list[Send]:
        """Tell the surroundings of this host if it changed."""
        return self.surroundings.tell(self.view(), self.links_ms, self._serves(), always=always)

    def measure(self, background: Load, *, now_ms: float) -> list[Send]:
        """The load of what no flow of ours causes has been measured anew. What has run out goes with the occasion."""
        self.pheromone.expire(now_ms=now_ms)
        before_ms = wait_ms(self.ledger.load())
        self.ledger.expire(now_ms=now_ms)
        self.ledger.measure(background)
        return [*self.tell(), *self._alarm(before_ms)]

    def expire(self, *, now_ms: float) -> list[Send]:
        """Give up room that was promised for too long, and say so: to a host that looks full nobody comes who would."""
        return self.tell() if self.ledger.expire(now_ms=now_ms) else []

    def weigh(self, flow: str, load: Load) -> list[Send]:
        """What a flow takes here, whose load was guessed."""
        before_ms = wait_ms(self.ledger.load())
        self.ledger.weigh(flow, load)
        return [*self.tell(), *self._alarm(before_ms)]

    def flow_changed(self, flow: Flow, *, told_by_leader: bool = False) -> list[Send]:
        """The rates of a flow that has tasks here were measured anew. Its own leader, if it told, looks already."""
        before_ms = wait_ms(self.ledger.load())
        self.ledger.reload(
            flow.name, lambda mask: load_of((stream for _, stream in flow.graph.streams(mask)), self.capacity)
        )
        return [*self.tell(), *self._alarm(before_ms, but=flow.name if told_by_leader else "")]

    def link_changed(self, neighbour: str, link_ms: float) -> list[Send]:
        """A link to a neighbour is new or has another delay; a large change makes the ends behind it announce again."""
        before_ms = self.links_ms.get(neighbour)
        self.links_ms[neighbour] = link_ms
        self._links_are(self.links_ms)
        self.pheromone.meet(neighbour)
        if before_ms is None:
            # A way that was cut may be open again: the ends behind it announce themselves anew.
            again = self.scents.destinations() if self.params.scent is not None else []
            return [*self.tell(always=True), *(Send(end, Announce(end)) for end in again)]
        assert self.params.scent is None or self.params.scent.change_share > 0
        if self.params.scent is None or abs(link_ms - before_ms) <= self.params.scent.change_share * before_ms:
            return []
        return [Send(destination, Announce(destination)) for destination in self.scents.forget(neighbour)]

    def link_lost(self, neighbour: str) -> list[Send]:
        """A neighbour died, or the link to it did."""
        self.links_ms.pop(neighbour, None)
        self._links_are(self.links_ms)
        self.pheromone.lose(neighbour)
        self.surroundings.forget(neighbour)
        stale = self.scents.forget(neighbour)
        if self.params.scent is None:
            return []
        return [Send(destination, Announce(destination)) for destination in stale if destination != neighbour]

    def _alarm(self, before_ms: float, *, but: str = "") -> list[Send]:
        """Tell the leaders of the flows here that the queue has become much longer: they need not wait for a round."""
        if wait_ms(self.ledger.load()) <= before_ms * _CROWDED_FACTOR + _CROWDED_MS:
            return []
        return [
            Send(booking.home, Letter(booking.flow, Crowded(self.host)))
            for booking in self.ledger.bookings()
            if booking.state is not State.RESERVED and booking.home and booking.flow != but
        ]

    def _links_are(self, links_ms: Mapping[str, float]) -> None:
        self.links_ms = dict(sorted(links_ms.items()))
        self._view = replace(self._view, links=tuple(self.links_ms.items()))

    def _link_ms(self, a: str, b: str) -> float | None:
        if a == self.host:
            return self.links_ms.get(b)
        if b == self.host:
            return self.links_ms.get(a)
        return self.surroundings.link_ms(a, b)

    def _walker(self, ant: RoutingAnt | ScoutingAnt, now_ms: float, rng: Chance) -> list[Effect]:
        missing = self._unsmelled(ant) if ant.trail.hops == 0 else []
        if missing:
            return self._park(ant, missing, now_ms)
        if isinstance(ant, RoutingAnt):
            return routing.step(ant, self, self.params.routing, now_ms=now_ms, rng=rng)
        return scouting.step(ant, self, self.params.scouting, now_ms=now_ms, rng=rng)

    def _unsmelled(self, ant: RoutingAnt | ScoutingAnt) -> list[str]:
        """The ends that an ant needs to smell before it leaves and that have not announced themselves here."""
        if self.params.scent is None:
            return []
        ends = {ant.destination}
        if isinstance(ant, ScoutingAnt):
            ends |= {ant.order.end, *(anchor.host for anchors in ant.order.anchors for anchor in anchors)} - {""}
        return [end for end in sorted(ends) if self.scents.distance_ms(end) is None]

    def _park(self, ant: RoutingAnt | ScoutingAnt, missing: list[str], now_ms: float) -> list[Effect]:
        """Ask the ends to announce themselves, and let the ant wait for their waves.

        A wave that has come here runs ahead of an ant that leaves here: every cell on its way has smelled it before.
        """
        self._parked.append(ant)
        del self._parked[:-_MAX_PARKED]
        overdue = [end for end in missing if now_ms - self._asked_ms.get(end, -math.inf) > _ASK_AGAIN_MS]
        self._asked_ms |= dict.fromkeys(overdue, now_ms)
        return [Send(end, Announce(end)) for end in overdue]

    def _told(self, digest: Digest, _: float, __: Chance) -> list[Effect]:
        """A neighbour tells of itself or of others; one that tells for the first time may not know this host yet."""
        is_new = digest.view.host == digest.sender and self.surroundings.via(digest.sender) is None
        onward = self.surroundings.hear(digest, self.links_ms)
        if is_new and digest.sender in self.links_ms:
            return [*self.surroundings.greet(self.view(), digest.sender, self._serves()), *onward]
        return [*onward]

    def _smell(self, scent: Scent, now_ms: float, rng: Chance) -> list[Effect]:
        effects: list[Effect] = [*self.scents.smell(scent, self.links_ms, self.pheromone, now_ms=now_ms)]
        if self._asked_ms.pop(scent.destination, None) is not None:
            waiting, self._parked = self._parked, []
            for ant in waiting:
                effects += self._walker(ant, now_ms, rng)
        return effects

    def _measured_by(self, ant: MeasuringAnt, _: float, __: Chance) -> list[Effect]:
        """The ant brings the flow as its leader last measured it: what is booked here weighs what it weighs now."""
        booked = any(booking.flow == ant.flow.name for booking in self.ledger.bookings())
        changed = self.flow_changed(ant.flow, told_by_leader=True) if booked else []
        return [*changed, *measuring.step(ant, self)]

    def _enforce(self, ant: EnforcementAnt, now_ms: float, _: Chance) -> list[Effect]:
        return [*enforcement.step(ant, self, self.params.enforcement, now_ms=now_ms), *self.tell()]

    def _book(self, message: Activation | Cancellation | Release, now_ms: float, _: Chance) -> list[Effect]:
        self.ledger.expire(now_ms=now_ms)
        if isinstance(message, Activation):
            if not self.ledger.activate(message.flow, message.epoch):
                return home_or_letter(self.host, message.home, message.flow, HostLost(self.host))
        elif isinstance(message, Cancellation):
            self.ledger.cancel(message.flow, message.epoch)
        else:
            self.ledger.release(message.flow, message.epoch)
        return [*self.tell()]
