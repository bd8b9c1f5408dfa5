"""Reading the registry again and again: only what is new is read."""

import pytest

from services.registry import asking, snapshot
from services.registry.asking import RECENT_MS, answers_to, wait_answers
from services.registry.snapshot import FollowedRegistry
from tests.unit.registry.one_topic import OneTopic
from tests.unit.registry_messages import registration
from topics.catalogue import DECISIONS, HOSTS
from topics.messages import Decision


def decided(number: int, request: str = "r") -> tuple[Decision, int]:
    message = Decision(
        decision=f"d-{number}", kind="moved", by="p", decided_ms=number, what="", why="", flow="f", request=request
    )
    return message, number


@pytest.fixture
def decisions() -> OneTopic:
    return OneTopic(DECISIONS)


def test_what_was_read_is_not_read_again(decisions: OneTopic) -> None:
    """The history of a cluster is long, and commands that wait look five times a second."""
    registry = FollowedRegistry(decisions, [DECISIONS])  # type: ignore[arg-type]
    decisions.log = [decided(number) for number in range(50)]
    assert 50 == len(registry.read().decisions)
    decisions.log.append(decided(50))
    for _ in range(5):
        assert 51 == len(registry.read().decisions)
    assert 51 == decisions.read


def test_a_topic_that_comes_later_is_read_then(decisions: OneTopic) -> None:
    registry = FollowedRegistry(decisions, [DECISIONS, HOSTS])  # type: ignore[arg-type]
    decisions.is_there = False
    assert {} == registry.read().decisions
    decisions.is_there, decisions.log = True, [decided(1)]
    assert ["d-1"] == list(registry.read().decisions)


def test_answers_are_waited_for_without_reading_the_history_again(
    decisions: OneTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only those on the request count."""
    decisions.log = [decided(number, "another") for number in range(30)]

    def passing(_: float) -> None:
        decisions.log.append(decided(len(decisions.log)))

    class Followed:
        def __enter__(self) -> FollowedRegistry:
            return FollowedRegistry(decisions, [DECISIONS])  # type: ignore[arg-type]

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(asking, "followed_registry", lambda *_, **__: Followed())
    monkeypatch.setattr(asking.time, "sleep", passing)
    answers = wait_answers("nowhere", "r", lambda found: len(found) >= 3, deadline_s=float("inf"))
    assert ["d-30", "d-31", "d-32"] == [each.decision for each in answers]
    assert 33 == decisions.read


def test_who_has_just_asked_reads_no_history(decisions: OneTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    """A month of it is hundreds of thousands of decisions, and each command that waits for an answer read them all."""
    now_ms = 30 * RECENT_MS
    monkeypatch.setattr(asking, "now_ms", lambda: now_ms)
    decisions.stand_in(snapshot, monkeypatch)
    decisions.log = [(decided(number, "old")[0], number) for number in range(100)]
    decisions.log.append((decided(100)[0], now_ms - RECENT_MS // 2))
    assert ["d-100"] == [each.decision for each in answers_to("nowhere", "r")]
    assert 1 == decisions.read


def test_a_clock_that_is_ahead_hides_no_answer(decisions: OneTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is as new as what is looked for: all is read."""
    monkeypatch.setattr(asking, "now_ms", lambda: 90 * RECENT_MS)
    decisions.stand_in(snapshot, monkeypatch)
    decisions.log = [decided(1, "old"), decided(2)]
    assert ["d-2"] == [each.decision for each in answers_to("nowhere", "r")]


def test_only_of_decisions_the_old_ones_are_left_out() -> None:
    """What is so, such as which hosts there are, may have been written long ago."""
    hosts = OneTopic(HOSTS)
    hosts.log = [(registration("a"), 1)]
    registry = FollowedRegistry(hosts, [HOSTS], decisions_since_ms=10)  # type: ignore[arg-type]
    assert ["a"] == list(registry.read().hosts)
