"""Wishes: people ask what a leader would do, or what a plan rests on by now. What it then says is the answer."""

from collections.abc import Callable, Mapping

from placement.leader_attempt import Reason
from placement.leader_events import Place, Propose
from placement.leader_phases import Phase
from services.host.cell.body import CellBody
from services.host.cell.chronicle import Chronicle
from services.host.cell.led import Led
from services.host.cell.plan_words import Reckoned, busy, weighed
from services.host.cell.turns import Turns
from services.registry.view import RegistryView
from topics.messages import Request

WISH_AGE_MS_MAX = 60_000.0
"""A wish older than this was meant for a leader before this one."""
BUSY_MS_MAX = 45_000.0
"""Who asks for a dry run waits for a minute, and then thinks that nobody leads the flow."""


class Wishes:
    """To the leaders of one host. `take` those that have come."""

    def __init__(
        self,
        body: CellBody,
        turns: Turns,
        chronicle: Chronicle,
        *,
        reckoned: Callable[[], Reckoned],
        now_ms: Callable[[], float],
    ) -> None:
        self._body = body
        self._turns = turns
        self._chronicle = chronicle
        self._reckoned = reckoned
        self._now_ms = now_ms
        self._seen: set[str] = set()
        self._dry_runs: dict[str, Request] = {}
        """Flow -> who wants to know what its leader would do, until it has time for that."""

    def take(self, view: RegistryView, led: Mapping[str, Led]) -> None:
        """`led`: the flows that are led here."""
        oldest_ms = self._now_ms() - WISH_AGE_MS_MAX
        self._seen = {name for name in self._seen if name in view.requests}
        for request in view.asked_since(oldest_ms):
            if request.request in self._seen or request.flow not in led:
                continue
            if request.kind == "propose":
                self._seen.add(request.request)
                self._dry_runs[request.flow] = request
            elif request.kind == "approve":
                self._weigh(request, view, led[request.flow])
        for flow, request in list(self._dry_runs.items()):
            if flow not in led or request.asked_ms < oldest_ms:
                del self._dry_runs[flow]
            else:
                self._try_dry_run(flow, request)

    def _try_dry_run(self, flow: str, request: Request) -> None:
        """As soon as the leader is free; one that has no place for its flow looks for one anyway, and tells."""
        leader = self._body.leaders[flow]
        reason = leader.standing.why_look()
        if leader.phase is not Phase.RESTING or reason not in (Reason.WATCH, Reason.FIRST):
            if self._now_ms() - request.asked_ms >= BUSY_MS_MAX:
                del self._dry_runs[flow]
                self._chronicle.note(busy(flow, reason, request, by=self._body.host, now_ms=int(self._now_ms())))
            return
        del self._dry_runs[flow]
        self._chronicle.asked(flow, request.request)
        if reason is Reason.WATCH:
            self._body.tell_leader(flow, Propose())
        else:
            self._turns.soon(flow, Place())

    def _weigh(self, request: Request, view: RegistryView, led: Led) -> None:
        """Say what a plan rests on by now; the placement service compares it with what it was made for."""
        flow = request.flow
        tasks = {task.name for task in led.model.flow.tasks}
        for plan in (view.plans.get(flow), view.proposals.get(flow)):
            if plan is not None and plan.hash == request.hash and set(plan.hosts) == tasks:
                self._seen.add(request.request)
                word = weighed(
                    plan,
                    led.model,
                    self._reckoned(),
                    now_cost_ms=led.now_cost_ms,
                    by=self._body.host,
                    now_ms=int(self._now_ms()),
                    request=request.request,
                )
                self._chronicle.note(word)
                return
