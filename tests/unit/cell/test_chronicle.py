"""What leaders decided reaches the topics: plans until they have arrived, decisions for people to read."""

import asyncio
from typing import Any

import msgspec

from placement.admission import Refusal
from placement.leader_events import GaveUp, Stayed
from placement.model import Flow, Sink, Source, Task, chain
from services.host.cell.chronicle import STAYED_EVERY_MS, Chronicle
from services.host.cell.predictions import Prediction
from services.registry.decisions import decision
from tests.unit.registry_messages import committed_plan
from topics.errors import MessageError
from topics.messages import CommittedPlan, Decision, Message
from topics.topic import Topic

FLOW: Flow = chain("talk", Source("in", "a", 0.1), (Task("talk.1", 1.0),), Sink("out", "b"), latency_bound_ms=15.0)

PREDICTION = Prediction(12.0, 4.0)


def plan(epoch: int = 1, term: int = 7, host: str | None = "a") -> CommittedPlan:
    hosts = {"talk.1": host} if host is not None else {}
    return committed_plan(
        "talk", hosts, epoch=epoch, hash=f"h{epoch}", cost_ms=2.0, reason="the flow is new", term=term, decided_ms=5
    )


class Topics:
    """Takes what is published, or does not; as a publisher, it does not say why."""

    def __init__(self) -> None:
        self.is_away = False
        self.got: list[Message] = []
        self.now_ms = STAYED_EVERY_MS

    async def publish(self, topic: Topic[Any], message: Message) -> bool:
        try:
            topic.codec.encode(message, topic=topic.name)
        except MessageError:
            return False
        if not self.is_away:
            self.got.append(message)
        return not self.is_away

    def chronicle(self) -> Chronicle:
        return Chronicle("a", self.publish, now_ms=lambda: self.now_ms)

    def decisions(self) -> list[Decision]:
        return [each for each in self.got if isinstance(each, Decision)]


def send(chronicle: Chronicle, term: int | None = 7) -> None:
    asyncio.run(chronicle.send(term_of=lambda flow: term))


def test_a_plan_is_sent_again_until_it_has_arrived() -> None:
    """The cells have committed it: nothing would run it if it got lost."""
    topics = Topics()
    chronicle = topics.chronicle()
    topics.is_away = True
    chronicle.committed(plan(), PREDICTION)
    send(chronicle)
    assert not chronicle.is_told("talk")
    topics.is_away = False
    send(chronicle)
    send(chronicle)
    assert [plan()] == [each for each in topics.got if isinstance(each, CommittedPlan)]
    assert ["planned"] == [each.kind for each in topics.decisions()]


def test_a_leader_that_lost_its_lease_publishes_nothing() -> None:
    """Another one leads the flow."""
    for term in (None, 8):
        topics = Topics()
        chronicle = topics.chronicle()
        chronicle.ended(plan(host=None))
        send(chronicle, term)
        assert ([], True) == (topics.got, chronicle.is_told("talk"))


def test_rounds_that_change_nothing_are_told_now_and_then_and_whenever_somebody_asked() -> None:
    """Every five seconds and flow would bury the history."""
    topics = Topics()
    chronicle = topics.chronicle()
    stayed = Stayed("talk", 3.0, float("nan"), "not better by the factor 1.1")
    chronicle.stayed(stayed, PREDICTION)
    topics.now_ms += 1_000
    chronicle.stayed(stayed, PREDICTION)
    chronicle.asked("talk", "r-1")
    chronicle.stayed(stayed, PREDICTION)
    topics.now_ms += STAYED_EVERY_MS
    chronicle.stayed(stayed, PREDICTION)
    send(chronicle)
    assert [None, "r-1", None] == [each.request for each in topics.decisions()]
    assert {"now_cost_ms": 3.0, **PREDICTION.evidence()} == topics.decisions()[0].evidence
    assert (12.0, 4.0) == (PREDICTION.evidence()["latency_ms"], PREDICTION.evidence()["beyond_ms"])


def test_a_refusal_names_the_constraint_the_bound_and_what_would_do() -> None:
    """So that its user can act on it."""
    topics = Topics()
    chronicle = topics.chronicle()
    gave_up = GaveUp("talk", "no scout came back")
    chronicle.refused(gave_up, Refusal("latency", "the best placement takes 21.0 ms", 23.0), FLOW, bound_ms=15.0)
    chronicle.refused(gave_up, Refusal("none", "a placement of 9.0 ms seems possible", 10.0), FLOW, bound_ms=15.0)
    send(chronicle)
    first, second = topics.decisions()
    assert ("refused", "the best placement takes 21.0 ms") == (first.kind, first.why)
    assert {
        "binding": "latency",
        "attempts": "no scout came back",
        "bound_ms": 15.0,
        "nearest_bound_ms": 23.0,
    } == first.evidence
    assert "no scout came back; a placement of 9.0 ms seems possible, so it is tried again" == second.why


def test_a_decision_that_cannot_be_written_does_not_hold_up_the_next() -> None:
    """It stood at the head of all that waited, for ever; one that can't be sent just now waits on. Where only its
    evidence is too much it goes without."""
    topics = Topics()
    chronicle = topics.chronicle()
    figures = {f"an-input-with-a-long-name-{number}.rate_per_s": 1.0 for number in range(2_000)}
    for kind, flow, evidence in (("impossible", "x" * 300, {}), ("large", "talk", figures), ("small", "talk", {})):
        chronicle.note(decision(kind, "what", "why", by="a", now_ms=1, flow=flow, evidence=evidence))
    topics.is_away = True
    send(chronicle)
    topics.is_away = False
    send(chronicle)
    assert [("large", {}), ("small", {})] == [(each.kind, each.evidence) for each in topics.decisions()]


def test_a_plan_that_cannot_be_written_is_told_and_not_tried_for_ever() -> None:
    """People see why nothing of it is done."""
    topics = Topics()
    chronicle = topics.chronicle()
    chronicle.taken_over(msgspec.structs.replace(plan(), hosts={f"talk.{number}": "a" for number in range(30_000)}))
    send(chronicle)
    assert not chronicle.has_plans
    (told,) = topics.decisions()
    assert ("refused", "talk", "h1") == (told.kind, told.flow, told.plan)
    assert "it can't be written" in told.why
