"""`stigmergy move` of something that ants are moving at that moment: it comes next, and is not refused."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import move
from services.registry.errors import RegistryError
from topics.messages import Decision

SLOT = ("talk.aa", 0)


def decided(kind: str, what: str, **evidence: str) -> Decision:
    return Decision(
        decision="d", kind=kind, by="p1", decided_ms=1, what=what, why="it is so", request="r", evidence=evidence
    )


class Registry:
    """Another move of the partition is under way for so many looks."""

    def __init__(self, answers: list[Decision], busy_looks: int) -> None:
        self.answers = iter(answers)
        self.busy_looks = busy_looks
        self.asked: list[str] = []

    def read(self, *_: object) -> Any:
        self.busy_looks -= 1
        other = SimpleNamespace(segment="talk.aa", partition=0, phase="warming" if self.busy_looks > 0 else "done")
        return SimpleNamespace(moves={"m": other})

    def ask(self, *_: object, host: str, **__: object) -> str:
        self.asked.append(host)
        return "r"

    def answer(self, *_: object, **__: object) -> Decision:
        return next(self.answers)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    found = Registry([decided("refused", "to move", moving="talk.aa/0"), decided("accepted", "0 partitions")], 3)
    monkeypatch.setattr(move, "find_slots", lambda *_: [SLOT])
    monkeypatch.setattr(move, "read_registry", found.read)
    monkeypatch.setattr(move, "followed_registry", lambda *_: nullcontext(found))
    monkeypatch.setattr(move, "ask", found.ask)
    monkeypatch.setattr(move, "wait_answer", found.answer)
    return found


def run(*arguments: str) -> int:
    return CliRunner().invoke(move.app, ["talk", "tcp", "core-1", "--bootstrap", "localhost:1", *arguments]).exit_code


def test_it_waits_for_the_other_move_and_asks_again(registry: Registry) -> None:
    assert 0 == run("--json")
    assert ["core-1", "core-1"] == registry.asked
    assert registry.busy_looks <= 1


def test_without_waiting_for_its_end_it_still_waits_until_it_can_begin(registry: Registry) -> None:
    assert 0 == run("--no-wait")
    assert ["core-1", "core-1"] == registry.asked


def test_it_waits_no_longer_than_it_is_told(registry: Registry) -> None:
    registry.busy_looks = 1_000_000
    assert 1 == run("--timeout", "0.5")
    assert ["core-1"] == registry.asked


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        (["moved", "moved", "moved"], 0, "✓ moved"),
        (["moved"], 1, "2 still under way"),
        (["rolled_back", "moved"], 1, "1 still under way"),
        ([], 1, "3 still under way"),
    ],
)
def test_what_has_not_ended_in_time_is_told_beside_what_has(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, ends: list[str], code: int, said: str
) -> None:
    """A script went on as if all had moved, and the ends that had come were not shown."""
    registry.answers = iter([decided("accepted", "3 partitions")])
    found = [decided("accepted", "3 partitions"), *(decided(kind, f"end {kind}") for kind in ends)]
    monkeypatch.setattr(move, "wait_answers", lambda *_, **__: found)
    ran = CliRunner().invoke(move.app, ["talk", "tcp", "core-1", "--bootstrap", "localhost:1"])
    assert code == ran.exit_code
    assert said in ran.output
    assert all(f"end {kind}" in ran.output for kind in ends)
    assert ("give more --timeout" in ran.output) == (len(ends) < 3)


@pytest.mark.parametrize(
    ("text", "numbers"), [("tcp", set()), ("tcp/0", {0}), ("tcp/0,2-4", {0, 2, 3, 4}), ("tcp/3-3", {3})]
)
def test_partitions_are_named_by_numbers_and_ranges(text: str, numbers: set[int]) -> None:
    assert ("tcp", numbers) == move.parse_operator(text)


@pytest.mark.parametrize("numbers", ["4-2", "0,4-2", "0-99999999999", "99999999999", "9" * 5_000, "", "x", "-1", "1-"])
def test_what_names_no_partitions_is_refused(numbers: str) -> None:
    """An empty range was taken for all partitions, and a slip of the hand for all numbers up to it."""
    with pytest.raises(RegistryError, match=r"partition") as refused:
        move.parse_operator(f"tcp/{numbers}")
    assert "such as tcp/" in refused.value.remedy
