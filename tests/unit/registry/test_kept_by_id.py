"""What has an id of its own: dated by the broker, and forgotten when its topic may forget it."""

import pytest

from services.registry.view import KEPT_MS, TOPICS, RegistryView
from tests.unit.registry_messages import move_record
from topics.messages import Decision, Message, MoveRecord, Request

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS


def wish(name: str, *, asked_ms: int = 0) -> Request:
    return Request(request=name, kind="propose", flow="talk", asked_ms=asked_ms)


def decided(name: str) -> Decision:
    return Decision(decision=name, kind="moved", by="p", decided_ms=0, what="", why="")


def moved(name: str, phase: str = "done") -> MoveRecord:
    return move_record("talk", "talk.s", move=name, phase=phase)


def tell(view: RegistryView, message: Message, appended_ms: int) -> Message | None:
    topic = next(each for each in TOPICS.values() if each.message is type(message))
    value = topic.codec.encode(message, topic=topic.name)
    return view.apply(topic.name, topic.key_of(message), value, partition=0, offset=0, appended_ms=appended_ms)


@pytest.mark.parametrize("asked_ms", [NOW_MS - 61_000, NOW_MS + 3_600_000])
def test_a_wish_was_asked_when_the_broker_got_it(asked_ms: int) -> None:
    """The laptop of whoever asks may be a minute late: no leader would ever answer."""
    view = RegistryView()
    told = tell(view, wish("r", asked_ms=asked_ms), NOW_MS)
    assert (NOW_MS, NOW_MS) == (view.requests["r"].asked_ms, getattr(told, "asked_ms", None))


@pytest.mark.parametrize(
    ("topic", "table", "make"),
    [("stig.requests", "requests", wish), ("stig.decisions", "decisions", decided), ("stig.moves", "moves", moved)],
)
def test_what_its_topic_forgets_is_forgotten(topic: str, table: str, make: type) -> None:
    """A host or an instance that runs for a year would hold a year of it, and look through it."""
    view = RegistryView()
    for day in range(90):
        tell(view, make(f"id-{day}"), day * DAY_MS)
    kept = KEPT_MS[topic] // DAY_MS
    assert [f"id-{day}" for day in range(89 - kept, 90)] == list(getattr(view, table))


def test_what_is_written_again_is_kept_from_then_on() -> None:
    """A move is one record a phase: the last one counts."""
    view = RegistryView()
    tell(view, moved("long", "warming"), 0)
    tell(view, moved("short"), 1)
    tell(view, moved("long"), 5 * DAY_MS)
    tell(view, moved("new"), 8 * DAY_MS)
    assert ["long", "new"] == sorted(view.moves)


def test_a_view_that_is_read_anew_forgets_ages_too() -> None:
    view = RegistryView()
    tell(view, decided("a"), 0)
    view.clear()
    tell(view, decided("b"), 90 * DAY_MS)
    tell(view, decided("c"), 91 * DAY_MS)
    assert ["b", "c"] == list(view.decisions)


def test_a_wish_with_an_old_time_hides_none_before_it() -> None:
    """On a topic that carries the times of askers, one whose clock is late may come last."""
    view = RegistryView()
    for number, appended_ms in enumerate([0, 5, 6, 1]):
        tell(view, wish(f"r-{number}"), appended_ms)
    assert ["r-1", "r-2"] == [each.request for each in view.asked_since(5)]
    assert [] == view.asked_since(7)
