"""Corrections: what leaders hear of how their flows really run, and what everybody hears of it then (decision 320).

A leader takes its plan for what runs. The registry knows better, once all is quiet; what it says is told to the leader,
and published as a plan of its own: cells book by plans, and whoever leads next begins with one.
"""

import math
from collections.abc import Awaitable, Callable, Collection

from placement.leader import Leader
from placement.leader_events import Corrected
from services.host.cell.body import CellBody
from services.host.cell.carried_out import not_carried_out
from services.host.cell.chronicle import Chronicle
from services.host.cell.led import Led
from services.host.cell.plan_grounds import Way
from services.host.cell.plan_words import corrected, corrected_plan
from services.host.cell.turns import Turns
from services.host.cell.vain_tries import one_more
from services.registry.view import RegistryView
from topics.messages import CommittedPlan


class Corrections:
    """Of the leaders of one host. `look` after each of them that has nothing else to do; `tell` what it then says."""

    def __init__(
        self,
        body: CellBody,
        turns: Turns,
        chronicle: Chronicle,
        *,
        fresh: Callable[[], Awaitable[None]],
        way_ms: Way,
        now_ms: Callable[[], float],
    ) -> None:
        """`fresh` waits until the registry has been read to its end."""
        self._body = body
        self._turns = turns
        self._chronicle = chronicle
        self._fresh = fresh
        self._way_ms = way_ms
        self._now_ms = now_ms

    async def look(self, led: Led, view: RegistryView, *, live: Collection[str]) -> None:
        """Tell the leader if its flow does not run as it thinks."""
        leader = self._body.leaders[led.name]
        if not_carried_out(view, led, leader, live=live, now_ms=self._now_ms()) is None:
            return
        await self._fresh()  # what was read last may be older than what is told of it
        news = not_carried_out(view, led, leader, live=live, now_ms=self._now_ms())
        if news is not None:
            wanted = view.plans[led.name].hosts
            led.in_vain = one_more(led.in_vain, wanted, news, now_ms=int(self._now_ms()))
            self._turns.soon(led.name, news)

    def tell(self, leader: Leader, led: Led, decided: Corrected, before: CommittedPlan) -> None:
        """What runs instead of the plan before, for everybody."""
        now_ms = int(self._now_ms())
        plan = corrected_plan(decided, before, leader=leader.host, term=led.term, now_ms=now_ms, in_vain=led.in_vain)
        known_ms = plan.now.cost_ms if plan.now is not None else None
        led.now_cost_ms = math.nan if known_ms is None else known_ms
        beyond_ms = led.model.hops.beyond_ms(leader.flow.graph, leader.running, self._way_ms)
        self._chronicle.corrected(plan, corrected(plan, before, beyond_ms=beyond_ms))
