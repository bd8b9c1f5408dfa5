"""Chronicle: what the leaders of a host decided, on its way to the topics of plans and decisions.

Plans must arrive: they are sent again until they do, or until somebody else leads the flow. Decisions are the history
that people read; a round of ants that changes nothing is only told now and then. What nobody can write, because it is
too large say, is dropped and told: it would hold up all that comes after it.
"""

import math
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from placement.admission import Refusal
from placement.leader_events import GaveUp, Stayed
from placement.model import Flow
from services.host.cell.plan_words import kept, planned, proposed, refused
from services.host.cell.predictions import Prediction
from services.registry.decisions import decision, fault_of, slimmed
from topics import catalogue
from topics.messages import CommittedPlan, Message, ProposedPlan
from topics.topic import Topic

log = structlog.get_logger(__name__)

STAYED_EVERY_MS = 60_000.0
SAME_EVERY_MS = 600_000.0
"""What a leader has said before it says again after so long: else what was decided is lost among it (decision 351)."""
NEWS_SHARE = 0.1
"""A figure that changed by more than this share is news."""
DECISIONS_MAX = 1_000
"""That wait to be written; beyond these the oldest are forgotten."""

Publish = Callable[[Topic[Any], Message], Awaitable[bool]]
"""Whether a message has arrived."""


@dataclass(frozen=True, slots=True)
class _Word:
    """The last one on a flow that stays where it is: when, why, and with which figures."""

    at_ms: float
    why: str = ""
    figures_ms: tuple[float, ...] = ()

    def is_news_after(self, before: "_Word") -> bool:
        """Whether it says something else. Figures within the reason change with every look."""
        if _sentence(self.why) != _sentence(before.why) or len(self.figures_ms) != len(before.figures_ms):
            return True
        return any(map(_differ, self.figures_ms, before.figures_ms))


def _sentence(why: str) -> str:
    return re.sub(r"[\d.]+", "", why)


def _differ(one: float, other: float) -> bool:
    if math.isfinite(one) and math.isfinite(other):
        return abs(one - other) > NEWS_SHARE * max(one, other)
    return math.isfinite(one) != math.isfinite(other)


class Chronicle:
    """Of one host. `asked` notes which request the next decision on a flow answers."""

    def __init__(self, host: str, publish: Publish, *, now_ms: Callable[[], float]) -> None:
        self._host = host
        self._publish = publish
        self._now_ms = now_ms
        self._plans: dict[str, CommittedPlan] = {}
        self._proposals: dict[str, ProposedPlan] = {}
        self._decisions: deque[tuple[Topic[Any], Message]] = deque(maxlen=DECISIONS_MAX)
        self._words: dict[str, _Word] = {}
        self._requests: dict[str, str] = {}

    @property
    def has_plans(self) -> bool:
        """Whether a plan, proposed or committed, waits to be sent."""
        return bool(self._plans or self._proposals)

    def is_told(self, flow: str) -> bool:
        """Whether no plan of this flow waits any more."""
        return flow not in self._plans

    def asked(self, flow: str, request: str) -> None:
        """A person waits for the next decision on this flow."""
        self._requests[flow] = request

    def committed(self, plan: CommittedPlan, prediction: Prediction, *, debt_ms: float = 0.0) -> None:
        """A leader committed a plan. `debt_ms`: for how long its ants are not paid for."""
        self._plans[plan.flow] = plan
        self._words[plan.flow] = _Word(self._now_ms())
        request = self._requests.pop(plan.flow, None)
        self._decisions.append(planned(plan, prediction, request=request, debt_ms=debt_ms))

    def taken_over(self, plan: CommittedPlan) -> None:
        """A new leader goes on with a plan, under its own term. Nothing was decided, so history has nothing to tell."""
        self._plans[plan.flow] = plan

    def corrected(self, plan: CommittedPlan, entry: tuple[Topic[Any], Message]) -> None:
        """A leader learnt that its plan was not carried out: this is what runs, and how history tells it."""
        self._plans[plan.flow] = plan
        self._words[plan.flow] = _Word(self._now_ms())
        self._decisions.append(entry)

    def proposed(self, plan: ProposedPlan, now: Prediction) -> None:
        """A leader tells what it would do, and what it predicts where the flow runs now."""
        self._proposals[plan.flow] = plan
        self._decisions.append(proposed(plan, now, request=self._requests.pop(plan.flow, None)))

    def note(self, entry: tuple[Topic[Any], Message]) -> None:
        """A leader's word that is no decision on its flow."""
        self._decisions.append(entry)

    def ended(self, plan: CommittedPlan) -> None:
        """A leader ended its flow."""
        self._plans[plan.flow] = plan

    def stayed(self, stayed: Stayed, prediction: Prediction, *, debt_ms: float = 0.0) -> None:
        """A round of ants found nothing worth a move. `debt_ms`: the next one is not paid for before."""
        request = self._requests.pop(stayed.flow, None)
        word = _Word(self._now_ms(), stayed.why, (stayed.now_cost_ms, prediction.latency_ms))
        if request is None and not self._is_due(word, self._words.get(stayed.flow), debt_ms):
            return
        self._words[stayed.flow] = word
        now_ms = int(word.at_ms)
        self._decisions.append(kept(stayed, prediction, by=self._host, now_ms=now_ms, request=request, debt_ms=debt_ms))

    @staticmethod
    def _is_due(word: _Word, last: _Word | None, debt_ms: float) -> bool:
        if last is None or debt_ms >= STAYED_EVERY_MS:  # nothing more is heard of it meanwhile
            return True
        silent_ms = word.at_ms - last.at_ms
        return silent_ms >= STAYED_EVERY_MS and (silent_ms >= SAME_EVERY_MS or word.is_news_after(last))

    def refused(self, gave_up: GaveUp, refusal: Refusal, flow: Flow, *, bound_ms: float | None) -> None:
        """A flow found no place within the bound that its user gave."""
        request, now_ms = self._requests.pop(flow.name, None), int(self._now_ms())
        self._decisions.append(
            refused(gave_up, refusal, flow, bound_ms=bound_ms, by=self._host, now_ms=now_ms, request=request)
        )

    def forget(self, flow: str) -> None:
        """The flow is not led here any more: what was not sent is somebody else's to say."""
        self._plans.pop(flow, None)
        self._proposals.pop(flow, None)
        self._requests.pop(flow, None)
        self._words.pop(flow, None)

    async def send(self, *, term_of: Callable[[str], int | None]) -> None:
        """Send what waits. `term_of` a flow: that of its leader's lease, while this host has it."""
        for flow, plan in sorted(self._plans.items()):
            if term_of(flow) != plan.term or (
                await self._has_left(catalogue.PLANS, plan) and self._plans.get(flow) is plan
            ):
                self._plans.pop(flow, None)
        for flow, proposal in sorted(self._proposals.items()):
            # Before the decision that tells of it: who waits for that looks for the plan next.
            if term_of(flow) != proposal.term or (
                await self._has_left(catalogue.PROPOSALS, proposal) and self._proposals.get(flow) is proposal
            ):
                self._proposals.pop(flow, None)
        while self._decisions and await self._has_left(*self._decisions[0]):
            self._decisions.popleft()

    async def _has_left(self, topic: Topic[Any], message: Message) -> bool:
        """Whether a message need not be sent again: it has arrived, or can't be written at all."""
        topic, message = slimmed(topic, message)
        if (fault := fault_of(topic, message)) is None:
            return await self._publish(topic, message)
        log.error("what can't be written is dropped", topic=topic.name, error=fault)
        if isinstance(message, CommittedPlan):
            self._decisions.append(self._unwritable(message, fault))
        return True

    def _unwritable(self, plan: CommittedPlan, fault: str) -> tuple[Topic[Any], Message]:
        why, now_ms = f"it can't be written: {fault}", int(self._now_ms())
        return decision(
            "refused", f"plan {plan.hash}", why, by=self._host, now_ms=now_ms, flow=plan.flow, plan=plan.hash
        )
