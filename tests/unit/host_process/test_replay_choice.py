"""Which records a replay of dead letters sends."""

from typing import Any

import pytest

from services.setaside import replay
from services.setaside.letters import Letter
from services.setaside.replay import Original, Skipped, choose
from topics.messages import DeadLetter, Header, Origin


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
