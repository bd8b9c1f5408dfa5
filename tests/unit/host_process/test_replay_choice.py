"""Which records a replay of dead letters sends, and what becomes of a portion that is not committed."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from services.registry.errors import RegistryError
from services.setaside import replay
from services.setaside.letters import Letter
from services.setaside.replay import Original, Replay, Skipped, choose
from topics.messages import DeadLetter, Header, Origin
from topics.names import edge_topic


def letter(number: int, offset: int = 0, **more: Any) -> Letter:
    defaults: dict[str, Any] = {"flow": "f", "operator": "o", "error": "e", "attempts": 1, "failed_ms": 0}
    origin = Origin("t", 2, offset)
    return Letter(number, DeadLetter(**{**defaults, "origin": origin, "key": b"k", "value": b"v", **more}))


def test_a_whole_record_is_sent_as_it_was() -> None:
    """Key, value and headers, to the partition where it came from."""
    (sent,) = choose("nowhere:1", [letter(3, 7, headers=(Header("h", b"1"), Header("h", None)))])
    assert Original(3, Origin("t", 2, 7), b"k", b"v", [("h", b"1"), ("h", None)]) == sent


def test_a_record_that_two_operators_gave_up_is_sent_once() -> None:
    """It would be doubled in every other branch of the flow."""
    first, second = choose("nowhere:1", [letter(0, 7), letter(1, 7, operator="p")])
    assert isinstance(first, Original)
    assert isinstance(second, Skipped)
    assert "already" in second.why


def test_what_was_computed_from_several_records_is_not_sent() -> None:
    """There is no one record that would make it again, and the origin's offset is none."""
    (skipped,) = choose("nowhere:1", [letter(0, computed="several")])
    assert "several" in skipped.why


def test_what_somebody_wrote_to_an_edge_is_not_sent_there_again() -> None:
    """No host can read it; rows that came by an edge have their origin in a source."""
    (skipped,) = choose("nowhere:1", [letter(0, origin=Origin(edge_topic("f", "a", "b", 0), 0, 7))])
    assert "stranger" in skipped.why


def test_an_unreadable_letter_is_told() -> None:
    """Nothing is left out silently."""
    assert [Skipped(4, "unreadable: bad")] == list(choose("nowhere:1", [Letter(4, None, "bad")]))


@pytest.mark.parametrize("more", [{"cut": True}, {"computed": "one"}])
def test_a_record_that_the_letter_does_not_hold_is_read_at_its_origin(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the letter holds then is a part of it, or what an operator made of it."""
    whole = Original(0, Origin("t", 2, 5), b"k", b"the whole", [])
    monkeypatch.setattr(replay, "_at_origin", lambda bootstrap, number, origin: whole if origin.offset == 5 else None)
    found, gone = choose("nowhere:1", [letter(0, 5, **more), letter(1, 6, **more)])
    assert whole == found
    assert isinstance(gone, Skipped)
    assert "gone" in gone.why


def test_a_record_that_was_sent_for_a_letter_before_the_bookmark_is_not_sent_again() -> None:
    """A replay that was cut short between two letters of one record has sent it."""
    before, after, other = letter(4, 7), letter(5, 7, operator="p"), letter(6, 8)
    skipped, sent = choose("nowhere:1", [before, after, other], first=5)
    assert isinstance(skipped, Skipped)
    assert "already" in skipped.why
    assert 6 == sent.number


def test_the_time_of_a_record_is_sent_with_it() -> None:
    """Else a flow that goes by Kafka's timestamps would count it into the wrong window."""
    (sent,) = choose("nowhere:1", [letter(3, timestamp_ms=1_700_000_000_123)])
    assert isinstance(sent, Original)
    assert 1_700_000_000_123 == sent.timestamp_ms


def test_a_portion_is_bounded_by_letters_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that holds too much runs out of time, or its client out of room."""
    monkeypatch.setattr(replay, "PORTION_LETTERS_MAX", 3)
    monkeypatch.setattr(replay, "PORTION_BYTES_MAX", 10)
    sizes = [1, 1, 1, 9, 9, 20, 1]
    choices = list(choose("nowhere:1", [letter(n, n, key=None, value=b"v" * size) for n, size in enumerate(sizes)]))
    assert [[0, 1, 2], [3, 4], [5], [6]] == [[each.number for each in portion] for portion in replay.portions(choices)]


class Coordinator:
    """A transactional producer whose commits go as the test says."""

    def __init__(self, *answers: KafkaError | None) -> None:
        self.answers = list(answers)
        self.done: list[str] = []

    def __call__(self, _settings: Any) -> "Coordinator":
        return self

    def init_transactions(self, _timeout_s: float) -> None:
        self.done.append("fence")

    def begin_transaction(self) -> None:
        self.done.append("begin")

    def produce(self, topic: str, *_: Any, **_more: Any) -> None:
        self.done.append(topic)

    def commit_transaction(self, _timeout_s: float) -> None:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            raise KafkaException(answer)
        self.done.append("commit")

    def abort_transaction(self, _timeout_s: float) -> None:
        self.done.append("abort")


LATE = KafkaError(KafkaError._TIMED_OUT, "too slow", retriable=True)
REFUSED = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large", txn_requires_abort=True)


def sending(monkeypatch: pytest.MonkeyPatch, *answers: KafkaError | None) -> tuple[Coordinator, Replay]:
    producer = Coordinator(*answers)
    monkeypatch.setattr(replay, "Producer", producer)
    return producer, Replay("nowhere:1", "f")


def test_a_commit_that_is_not_answered_in_time_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker may have done it, or be about to."""
    producer, replaying = sending(monkeypatch, LATE, LATE, None)
    replaying.send(list(choose("nowhere:1", [letter(0)])), bookmark_at=1)
    assert ["fence", "begin", "t", "stig.flow.f.landmarks", "commit"] == producer.done


def test_what_is_not_known_is_not_told_as_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who sends it again by another way would double it."""
    monkeypatch.setattr(replay, "COMMIT_S_MAX", 0.0)
    _, replaying = sending(monkeypatch, LATE)
    with pytest.raises(RegistryError, match="no broker said whether letters 0 to 0 are replayed"):
        replaying.send(list(choose("nowhere:1", [letter(0)])), bookmark_at=None)


def test_what_fails_leaves_no_open_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """All who read the origin topics would wait behind it."""
    producer, replaying = sending(monkeypatch, REFUSED)
    with pytest.raises(RegistryError, match="letters 0 to 0 were not replayed: too large"):
        replaying.send(list(choose("nowhere:1", [letter(0)])), bookmark_at=1)
    assert "abort" == producer.done[-1]
