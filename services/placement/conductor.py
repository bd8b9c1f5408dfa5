"""What the active instance decides at each look: facts in, registry entries out. Pure but for the names of new things.

It looks at everything each time and writes what is not yet so; nothing hangs on having seen a message. What it writes
it takes for true at once, and the instance throws it away if the write fails.
"""

from collections.abc import Iterator

from services.placement.carriage import Carriage
from services.placement.failover import fail_over
from services.placement.growth import grow
from services.placement.params import PlacementParams
from services.placement.plans import carry_out, check, cleared, is_carried_out, is_heard
from services.placement.sharing import kept_for_others, serve
from services.placement.situation import Situation
from services.placement.unfit import UnfitError
from services.placement.wishes import REQUEST_AGE_MS_MAX, answer, is_early, leave_drained
from services.registry.changes import Entry
from services.registry.decisions import WEIGHED, decision
from services.registry.view import RegistryView, Slot
from topics.messages import CommittedPlan

RESTING_MS = 30_000
"""What could not leave a drained host is tried again after so long."""


class Conductor:
    """One for each time that an instance is active. It begins with what the registry says."""

    def __init__(self, params: PlacementParams, view: RegistryView) -> None:
        self._params = params
        self._carriage = Carriage(params, view.moves.values())
        self._answered = {
            each.request for each in view.decisions.values() if each.request is not None and each.kind != WEIGHED
        }
        self._asked_since_ms = 0
        """The first look is at all wishes; after it older ones have their answer."""
        self._refused: set[tuple[str, str]] = set()
        self._resting: set[tuple[Slot, str]] = set()
        self._rested_ms = 0

    def look(self, situation: Situation) -> list[Entry]:
        """All that is to be written now, in this order and together."""
        if situation.now_ms > self._rested_ms + RESTING_MS:
            self._rested_ms = situation.now_ms
            self._resting.clear()
            self._answered = {name for name in self._answered if name in situation.view.requests}
        return [
            *self._withdrawals(situation),
            *grow(situation, by=self._params.name),
            *self._wishes(situation),
            *self._plans(situation),
            *serve(situation, by=self._params.name),
            *leave_drained(situation, self._carriage, self._resting),
            *self._carriage.carry_on(situation),
            *fail_over(situation, frozenset(self._carriage.under_way()), self._params),
        ]

    def _withdrawals(self, situation: Situation) -> Iterator[Entry]:
        ended = [known for known in situation.flows.values() if known.revision.state == "withdrawn"]
        kept = kept_for_others(situation) if ended else {}
        for known in ended:
            yield from cleared(known, situation, kept)

    def _wishes(self, situation: Situation) -> Iterator[Entry]:
        since_ms, self._asked_since_ms = self._asked_since_ms, situation.now_ms - 2 * REQUEST_AGE_MS_MAX
        for request in situation.view.asked_since(since_ms):
            is_new = request.kind != "propose" and request.request not in self._answered
            if is_new and not is_early(request, situation, self._params):
                self._answered.add(request.request)
                yield from answer(request, situation, self._carriage, self._params)

    def _plans(self, situation: Situation) -> Iterator[Entry]:
        for flow, plan in sorted(situation.view.plans.items()):
            known = situation.flows.get(flow)
            if known is None or known.revision.state == "withdrawn" or not plan.hosts or situation.is_overruled(plan):
                continue
            if _is_held(plan, situation) or is_carried_out(plan, known, situation):
                continue
            try:
                check(plan, known, situation)
            except UnfitError as unfit:
                yield from self._refuse(flow, plan.hash, unfit.why, situation)
                continue
            if is_heard(plan, situation):
                yield from carry_out(plan, known, situation, self._carriage, by=self._params.name)

    def _refuse(self, flow: str, plan: str, why: str, situation: Situation) -> Iterator[Entry]:
        if (plan, why) not in self._refused:
            self._refused.add((plan, why))
            yield decision(
                "refused", f"plan {plan}", why, by=self._params.name, now_ms=situation.now_ms, flow=flow, plan=plan
            )


def _is_held(plan: CommittedPlan, situation: Situation) -> bool:
    """Whether a plan waits for a person, or nothing of it may be done; one that only says what runs never does."""
    policy = situation.flow_policy(plan.flow)
    if plan.corrects is not None or policy == "auto":
        return False
    return policy == "approve" or any(each.revision == plan.revision for each in situation.placed(plan.flow).values())
