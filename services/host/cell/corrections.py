"""Corrections: what leaders hear of how their flows really run, and what everybody hears of it then.

A leader takes its plan for what runs. The registry knows better, once all is quiet: moves were not made (decision 320),
or what lost hosts ran was placed anew while the leader found no place (decision 336). What runs is then published as a
plan of its own: cells book by plans, and whoever leads next begins with one.
"""

import math
from collections.abc import Awaitable, Callable

import structlog

from placement.leader import Leader
from placement.leader_events import Corrected, NotCarriedOut
from services.host.cell.body import CellBody
from services.host.cell.carried_out import PlacedAnew, told_otherwise
from services.host.cell.chronicle import Chronicle
from services.host.cell.led import Led, Surface
from services.host.cell.plan_grounds import Way
from services.host.cell.plan_words import Terms, corrected, corrected_plan, unmoved
from services.host.cell.succession import Succession, running_plan
from services.host.cell.turns import Turns
from services.host.cell.vain_tries import one_more
from services.registry.view import RegistryView
from topics.messages import CommittedPlan, Figures

log = structlog.get_logger(__name__)


class Corrections:
    """Of the leaders of one host. `look` after each of them that has nothing else to do; `tell` what it then says."""

    def __init__(
        self,
        body: CellBody,
        turns: Turns,
        chronicle: Chronicle,
        succession: Succession,
        *,
        fresh: Callable[[], Awaitable[None]],
        way_ms: Way,
        now_ms: Callable[[], float],
    ) -> None:
        """`fresh` waits until the registry has been read to its end."""
        self._body = body
        self._turns = turns
        self._chronicle = chronicle
        self._succession = succession
        self._fresh = fresh
        self._way_ms = way_ms
        self._now_ms = now_ms

    async def look(self, led: Led, view: RegistryView, surface: Surface) -> None:
        """Tell the leader if its flow does not run as it thinks."""
        if self._news(led, view, surface) is None:
            return
        await self._fresh()  # what was read last may be older than what is told of it
        news = self._news(led, view, surface)
        if isinstance(news, NotCarriedOut):
            led.in_vain = one_more(led.in_vain, view.plans[led.name].hosts, news, now_ms=int(self._now_ms()))
            self._turns.soon(led.name, news)
        elif news is not None:
            self._lead_on(led, view.plans[led.name], news.hosts, surface)

    def _news(self, led: Led, view: RegistryView, surface: Surface) -> NotCarriedOut | PlacedAnew | None:
        leader = self._body.leaders[led.name]
        return told_otherwise(view, led, leader, live=surface.regions, now_ms=self._now_ms())

    def tell(self, leader: Leader, led: Led, decided: Corrected, before: CommittedPlan) -> None:
        """A leader has heard that its plan was not carried out, and what runs instead."""
        why, known = f"plan {before.hash} was not carried out: {decided.why}", unmoved(decided.plan, before)
        self._publish(leader, led, corrected_plan(decided.plan, before, known, why, self._terms(led)), before.cost_ms)

    def _lead_on(self, led: Led, before: CommittedPlan, hosts: dict[str, str], surface: Surface) -> None:
        """A leader that gave up would look for a place until it found one, whatever ran meanwhile."""
        gave_up = self._body.leaders[led.name]
        is_back = hosts == before.hosts
        plan = running_plan(led.name, before.epoch if is_back else gave_up.epoch + 1, hosts)
        log.info("goes on with what runs after a loss", flow=led.name, epoch=plan.epoch)
        self._succession.lead_on(led, plan, surface)
        if not is_back:
            why = f"plan {before.hash} has lost {', '.join(sorted(gave_up.standing.dead))}, and was placed anew"
            told = corrected_plan(plan, before, Figures(), why, self._terms(led))
            self._publish(self._body.leaders[led.name], led, told, None)

    def _terms(self, led: Led) -> Terms:
        return led.terms(self._body.host, int(self._now_ms()))

    def _publish(self, leader: Leader, led: Led, plan: CommittedPlan, best_cost_ms: float | None) -> None:
        """What runs, for everybody. `best_cost_ms`: of where the flow did not get to."""
        known_ms = plan.now.cost_ms if plan.now is not None else None
        led.now_cost_ms = math.nan if known_ms is None else known_ms
        beyond_ms = led.model.hops.beyond_ms(leader.flow.graph, leader.running, self._way_ms)
        self._chronicle.corrected(plan, corrected(plan, best_cost_ms=best_cost_ms, beyond_ms=beyond_ms))
