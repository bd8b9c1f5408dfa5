"""The live body of one cell: what the brain asks for happens on this host's clock and on Kafka.

The other body is the simulator's (placement/simulator/body.py). This one knows nothing of Kafka's clients: it is
given a way to send, timers of the event loop, and a clock. Chance comes from generators named after their user.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from placement.ants.effects import Home, Lost, Send, SetTimer
from placement.ants.params import IMPROVED, AntParams
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt, Stage
from placement.ants.sizes import ENVELOPE_BYTES, scout_bytes
from placement.atlas import AtlasNow
from placement.cell import Cell
from placement.chance import Chance, ChanceFor
from placement.leader import Leader
from placement.leader_events import Corrected, GaveUp, Lingers, Proposed, Published, Stayed, TimerFired, Withdrawn
from placement.pheromone import PheromoneTable
from topics.ants.envelope import Travelling

log = structlog.get_logger(__name__)

Decided = Published | Corrected | Proposed | GaveUp | Stayed | Lingers | Withdrawn
HELD_BACK_MS = 1_000.0
"""A leader's next round waits at least this long while the control topics lag."""


def brain_ms() -> float:
    """The time that cells and leaders on this host reckon with: it never jumps, and means nothing to other hosts."""
    return time.monotonic() * 1e3


@dataclass(frozen=True, slots=True)
class Lineage:
    """How far and how long messages have travelled since a leader or a cell set them off by itself."""

    hops: int
    born_ms: float


class CellBody:
    """Runs one cell and the leaders that live with it."""

    def __init__(
        self,
        host: str,
        capacity: float,
        *,
        chance: ChanceFor,
        delay: Callable[[str, str], float],
        send: Callable[[str, Travelling], None],
        now_ms: Callable[[], float],
        decided: Callable[[Leader, Decided], None],
        pheromone: PheromoneTable | None = None,
        is_lagging: Callable[[], bool] = lambda: False,
        loop: Callable[[str], float] | None = None,
        atlas: AtlasNow | None = None,
        ants: AntParams = IMPROVED,
    ) -> None:
        """`now_ms` is the cluster's time, for the age of ants; `delay` that of data between any two hosts, `loop` that
        from a host to itself.

        `pheromone`: a table that a store follows; without one it is the cell's own.
        """
        self.host = host
        # Whatever a former process of this host has counted to, it did not count once a second for fifty years.
        born = int(now_ms() / 1e3)
        self.cell = Cell(host, capacity, {}, ants, delay=delay, direct=True, loop=loop, atlas=atlas, born=born)
        if pheromone is not None:
            self.cell.pheromone = pheromone
        self.leaders: dict[str, Leader] = {}
        self.lost: Counter[str] = Counter()
        self.failed = 0
        self._chance_for = chance
        self._rngs: dict[str, Chance] = {}
        self._send = send
        self._now_ms = now_ms
        self._decided = decided
        self.is_lagging = is_lagging
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}

    # Events.

    def take(self, ants: Sequence[Travelling], sender: str, *, hop_ms: float, ant_bytes: float) -> None:
        """Ants have come from a host. What the hop took and what each of them weighed was measured, not estimated."""
        for each in ants:
            self._hear(_weighed(_timed(each.ant, sender, hop_ms), ant_bytes), Lineage(each.hops, each.born_ms))

    def set_off(self, effects: Sequence[Any]) -> None:
        """Carry out what the cell or a leader wants by itself."""
        self._carry_out(effects, Lineage(0, self._now_ms()))

    def lead(self, leader: Leader) -> None:
        """A leader lives here from now on."""
        self.leaders[leader.flow.name] = leader

    def retire(self, flow: str) -> None:
        """A leader lives here no more; what it has not finished, its successor begins anew."""
        self.leaders.pop(flow, None)
        for key in [key for key in self._timers if key[0] == flow]:
            self._timers.pop(key).cancel()

    def tell_leader(self, flow: str, event: Any) -> None:
        """Something that a leader should know, if it lives here."""
        leader = self.leaders.get(flow)
        if leader is None:
            return
        try:
            effects = leader.step(event, now_ms=brain_ms(), rng=self.chance(f"leader/{flow}"))
        except Exception:
            self.failed += 1
            log.exception("an event confused a leader and was dropped", flow=flow, kind=type(event).__name__)
            return
        self.set_off(effects)

    def relink(self, links_ms: Mapping[str, float], has_changed: Callable[[float | None, float], bool]) -> None:
        """These are the neighbours now."""
        for neighbour in sorted(set(self.cell.links_ms) - set(links_ms)):
            self.set_off(self.cell.link_lost(neighbour))
        for neighbour, link_ms in sorted(links_ms.items()):
            if has_changed(self.cell.links_ms.get(neighbour), link_ms):
                self.set_off(self.cell.link_changed(neighbour, link_ms))

    def stop(self) -> None:
        """No timer fires any more."""
        for flow in list(self.leaders):
            self.retire(flow)

    # Interpreting effects.

    def _hear(self, message: Any, lineage: Lineage) -> None:
        try:
            effects = self.cell.hear(message, now_ms=brain_ms(), rng=self.chance(self.host))
        except Exception:
            self.failed += 1
            log.exception("a message confused the cell and was dropped", kind=type(message).__name__)
            return
        self._carry_out(effects, lineage)

    def _carry_out(self, effects: Sequence[Any], lineage: Lineage) -> None:
        onward = Lineage(lineage.hops + 1, lineage.born_ms)
        for effect in effects:
            if isinstance(effect, Send):
                self._dispatch(effect, onward)
            elif isinstance(effect, Home):
                self.tell_leader(effect.flow, effect.news)
            elif isinstance(effect, SetTimer):
                self._set_timer(effect)
            elif isinstance(effect, Lost):
                self.lost[effect.why] += 1
            elif (leader := self.leaders.get(_flow_of(effect))) is not None:
                self._decided(leader, effect)

    def _dispatch(self, effect: Send, lineage: Lineage) -> None:
        if effect.to == self.host:  # never through Kafka, and never before what is under way has been done
            asyncio.get_running_loop().call_soon(self._hear, effect.message, lineage)
        else:
            # `queued` has no meaning here: the wait in this host's queue stands in the trail, by the model, and ants
            # have topics of their own.
            self._send(effect.to, Travelling(effect.message, lineage.hops, lineage.born_ms))

    def _set_timer(self, timer: SetTimer) -> None:
        key = (timer.flow, timer.name)
        before = self._timers.pop(key, None)
        if before is not None:
            before.cancel()
        wait_s = max(0.0, timer.at_ms - brain_ms()) / 1e3
        self._timers[key] = asyncio.get_running_loop().call_later(wait_s, self._fire, timer)

    def _fire(self, timer: SetTimer) -> None:
        if timer.name == "rest" and self.is_lagging():
            # No new ants while the old ones are stuck; leaders that were held back together do not return together.
            wait_ms = HELD_BACK_MS * (1 + self.chance(f"leader/{timer.flow}").random())
            self._set_timer(replace(timer, at_ms=brain_ms() + wait_ms))
            return
        del self._timers[timer.flow, timer.name]
        self.tell_leader(timer.flow, TimerFired(timer.name))

    def chance(self, user: str) -> Chance:
        """The generator of this user."""
        if user not in self._rngs:
            self._rngs[user] = self._chance_for(user)
        return self._rngs[user]


def _timed(ant: Any, sender: str, hop_ms: float) -> Any:
    walks_out = (isinstance(ant, RoutingAnt) and not ant.homeward) or (
        isinstance(ant, ScoutingAnt) and ant.stage is Stage.OUT
    )
    return replace(ant, trail=ant.trail.took(sender, hop_ms)) if walks_out else ant


def _weighed(ant: Any, ant_bytes: float) -> Any:
    """A scout counts what it costs as it walks, by an estimate of its size; what it really weighed replaces that."""
    if not isinstance(ant, ScoutingAnt):
        return ant
    return replace(ant, byte_hops=ant.byte_hops - ENVELOPE_BYTES - scout_bytes(ant) + ant_bytes)


def _flow_of(decided: Decided) -> str:
    return decided.plan.flow if isinstance(decided, Published) else decided.flow
