"""What leaders decided reaches the topics: plans until they have arrived, decisions for people to read."""

import asyncio
from typing import Any

import msgspec
import pytest

from placement.admission import Refusal
from placement.leader_events import GaveUp, Stayed
from placement.model import Flow, Sink, Source, Task, chain
from services.host.cell.chronicle import SAME_EVERY_MS, STAYED_EVERY_MS, Chronicle
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


def stayed(why: str = "3.00 ms is not better by the factor 1.1", cost_ms: float = 3.0) -> Stayed:
    return Stayed("talk", cost_ms, float("nan"), why)


def test_rounds_that_change_nothing_are_told_now_and_then_and_whenever_somebody_asked() -> None:
    """Every five seconds and flow would bury the history."""
    topics = Topics()
    chronicle = topics.chronicle()
    chronicle.stayed(stayed(), PREDICTION)
    topics.now_ms += 1_000
    chronicle.stayed(stayed(), PREDICTION)
    chronicle.asked("talk", "r-1")
    chronicle.stayed(stayed(), PREDICTION)
    topics.now_ms += SAME_EVERY_MS
    chronicle.stayed(stayed(), PREDICTION)
    send(chronicle)
    assert [None, "r-1", None] == [each.request for each in topics.decisions()]
    assert {"now_cost_ms": 3.0, **PREDICTION.evidence()} == topics.decisions()[0].evidence
    assert (12.0, 4.0) == (PREDICTION.evidence()["latency_ms"], PREDICTION.evidence()["beyond_ms"])


@pytest.mark.parametrize(
    ("next_one", "prediction", "is_news"),
    [
        (stayed("3.02 ms is not better by the factor 1.1", 3.02), Prediction(12.5, 4.0), False),
        (stayed("the pause of 1 moves costs more"), PREDICTION, True),
        (stayed(cost_ms=3.5), PREDICTION, True),
        (stayed(), Prediction(14.0, 4.0), True),
        (stayed(cost_ms=float("nan")), PREDICTION, True),
    ],
    ids=["the same", "another reason", "it costs more here", "it takes longer", "nobody knows what it costs"],
)
def test_within_ten_minutes_only_news_are_told(next_one: Stayed, prediction: Prediction, is_news: bool) -> None:
    """Ten flows that stay where they are filled the fifty lines of the history in five minutes."""
    topics = Topics()
    chronicle = topics.chronicle()
    chronicle.stayed(stayed(), PREDICTION)
    topics.now_ms += STAYED_EVERY_MS - 1
    chronicle.stayed(next_one, prediction)
    topics.now_ms += 1
    chronicle.stayed(next_one, prediction)
    send(chronicle)
    assert 1 + is_news == len(topics.decisions())


@pytest.mark.parametrize("is_corrected", [False, True])
def test_what_is_learnt_after_a_move_is_told_a_minute_later(is_corrected: bool) -> None:
    """The plan told a guess of its latency, which may have been a good one; a correction may tell nothing of it."""
    topics = Topics()
    chronicle = topics.chronicle()
    chronicle.stayed(stayed(), PREDICTION)
    if is_corrected:
        chronicle.corrected(plan(), decision("planned", "what", "why", by="a", now_ms=1, flow="talk"))
    else:
        chronicle.committed(plan(), PREDICTION)
    for _ in range(2):
        topics.now_ms += STAYED_EVERY_MS / 2
        chronicle.stayed(stayed(), PREDICTION)
    send(chronicle)
    assert ["kept", "planned", "kept"] == [each.kind for each in topics.decisions()]


def test_a_leader_in_debt_says_so_at_once() -> None:
    """It sends no ants for so long, and so decides nothing that would tell why."""
    topics = Topics()
    chronicle = topics.chronicle()
    chronicle.stayed(stayed(), PREDICTION)
    topics.now_ms += 1_000
    chronicle.stayed(stayed(), PREDICTION, debt_ms=190_000.0)
    chronicle.committed(plan(), PREDICTION, debt_ms=200_000.0)
    send(chronicle)
    assert [None, 190.0, 200.0] == [each.evidence.get("debt_s") for each in topics.decisions()]


def test_a_flow_that_is_led_elsewhere_leaves_no_word_behind() -> None:
    """When it comes back, its leader is new, and says how things are."""
    topics = Topics()
    chronicle = topics.chronicle()
    for _ in range(2):
        chronicle.stayed(stayed(), PREDICTION)
        chronicle.forget("talk")
    send(chronicle)
    assert 2 == len(topics.decisions())


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
