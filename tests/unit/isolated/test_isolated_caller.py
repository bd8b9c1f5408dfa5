"""Functions in a process of their own: the same results as in ours, and no harm from one that hangs, dies or grows."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from services.isolated.caller import ClosedError, IsolatedCaller, IsolationParams
from services.operators import calls
from services.operators.batch import Batch
from services.operators.calls import BrokenFunctionError, Chunk, LocalCaller
from services.operators.failure import Failure
from services.operators.functions import FunctionError
from services.operators.python import Python
from topics.flow import specs

RULES = """
import os, re, time

grown = []

def tame(record, add=1):
    if record["n"] == 3:
        raise ValueError("three")
    return {"n": record["n"] + add, "big": 2**70}

def counted(record, state):
    state["seen"] = state.get("seen", 0) + 1
    return {"n": record["n"], "seen": state["seen"]}

def hangs_at(record, which):
    while record["n"] == which:
        pass
    return record

def holds_the_interpreter(record):
    if record["n"] == 1:
        re.match(r"(a+)+$", "a" * 60 + "b")
    return record

def always_hangs(record):
    time.sleep(3600)

def dies(record):
    if record["n"] in (1, 4):
        os.kill(os.getpid(), 11)
    return record

def kills_the_others(record):
    if record["kills"]:
        os.kill(os.getpid(), 11)
    time.sleep(0.1)
    return record

def hangs_up(record):
    if record["n"] == 1:
        os.closerange(3, 64)
        time.sleep(3600)
    return record

def grows(record):
    grown.append(bytearray(8_000_000))
    return {"n": record["n"]}

def greedy(record):
    if record["n"] == 2:
        bytearray(10**9)
    return record

def waits_long(record):
    time.sleep(0.8)
    return record

def waits(record):
    time.sleep(0.05)
    return {"n": record["n"]}

def slow_to_fail(record):
    time.sleep(0.03)
    raise TimeoutError("nobody answers")

def counted_hang(record, state):
    while record["n"] == 2:
        pass
    return counted(record, state)
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., IsolatedCaller]]:
    """Makes a caller of one of the functions above, which each test finds in a folder of its own."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "wild_rules", raising=False)
    (tmp_path / "wild_rules.py").write_text(RULES)
    made = []

    def caller(name: str, *, memory_mb: int = 512, **options: Any) -> IsolatedCaller:
        spec = specs.Python("in", f"wild_rules:{name}", **options)
        made.append(IsolatedCaller(spec, allow=[f"{tmp_path}/"], params=IsolationParams(memory_mb << 20)))
        return made[-1]

    yield caller
    for each in made:
        each.close()


def records(count: int) -> Chunk:
    return Chunk([{"n": n} for n in range(count)])


def numbers(results: list[list[dict[str, Any]]]) -> list[list[int]]:
    return [[record["n"] for record in each] for each in results]


def test_results_errors_and_large_integers_are_those_of_a_call_in_this_process(
    make: Callable[..., IsolatedCaller], tmp_path: Path
) -> None:
    """Where a function runs must not show in what comes of it."""
    isolated = make("tame", settings=(("add", 10),))
    local = LocalCaller(specs.Python("in", "wild_rules:tame", settings=(("add", 10),)), allow=[f"{tmp_path}/"])
    assert local.call(records(6)) == isolated.call(records(6))
    assert 2**70 == isolated.call(records(1)).results[0][0]["big"]


def test_state_goes_there_and_back(make: Callable[..., IsolatedCaller]) -> None:
    """A child keeps nothing, so a new one goes on where the last one was ended."""
    failures: list[Failure] = []
    spec = specs.Python("in", "wild_rules:counted_hang", state=True, by=("k",), timeout_ms=1_000)
    operator = Python("p", spec, make("counted_hang", state=True, by=("k",), timeout_ms=1_000), failures=failures)
    values = [{"n": n, "k": n % 2} for n in range(6)]
    batch = Batch(values, [None] * 6, [0] * 6, range(6), 0)
    assert [1, 1, 2, 2, 3] == [value["seen"] for value in operator.process(batch, 0).values]
    assert [2] == [failure.offset for failure in failures]
    assert [3, 4, 5, 4, 6] == [value["seen"] for value in operator.process(batch, 0).values]


@pytest.mark.parametrize(
    ("function", "options", "bad"),
    [
        ("hangs_at", {"settings": (("which", 2),)}, {2: "longer than 1 s"}),
        ("holds_the_interpreter", {}, {1: "longer than 1 s"}),
        ("dies", {}, {1: "SIGSEGV", 4: "SIGSEGV"}),
        ("greedy", {}, {2: "512 MB"}),
    ],
)
def test_only_the_record_that_hangs_or_kills_fails(
    make: Callable[..., IsolatedCaller], function: str, options: dict[str, Any], bad: dict[int, str]
) -> None:
    """All the others have their results, in their places."""
    answers = make(function, timeout_ms=1_000, **options).call(records(6))
    assert [[] if n in bad else [n] for n in range(6)] == numbers(answers.results)
    assert list(bad) == sorted(answers.errors)
    for n, word in bad.items():
        assert word in answers.errors[n].text


@pytest.mark.parametrize("which", [(7,), (0,), (5, 6), (2, 20)])
def test_of_records_in_hand_at_the_same_time_only_the_one_that_kills_fails(
    make: Callable[..., IsolatedCaller], which: tuple[int, ...]
) -> None:
    """A blocking function has eight in hand when one of them ends its process; the first of them is not to blame."""
    chunk = Chunk([{"n": n, "kills": n in which} for n in range(24)])
    answers = make("kills_the_others", blocking=True).call(chunk)
    assert [[] if n in which else [n] for n in range(24)] == numbers(answers.results)
    assert list(which) == sorted(answers.errors)


def test_a_child_that_hangs_up_without_ending_is_ended(
    make: Callable[..., IsolatedCaller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function may close what is not its own. Its task waited for the end of the process without limit."""
    monkeypatch.setattr("services.isolated.caller.ENDING_S_MAX", 0.2)
    answers = make("hangs_up").call(records(3))
    assert [[0], [], [2]] == numbers(answers.results)
    assert "without ending" in answers.errors[1].text


def test_a_function_that_leaks_gets_a_fresh_process_and_loses_nothing(make: Callable[..., IsolatedCaller]) -> None:
    """40 records of 8 MB each do not fit into 128 MB; the leak ends with the process, the records go on."""
    answers = make("grows", memory_mb=128).call(records(40))
    assert [[n] for n in range(40)] == numbers(answers.results)
    assert {} == answers.errors


def test_a_function_that_hangs_on_everything_is_given_up(make: Callable[..., IsolatedCaller]) -> None:
    """Otherwise a batch of a thousand records would take its time-out a thousand times."""
    with pytest.raises(BrokenFunctionError, match="5 records in a row: it took longer"):
        make("always_hangs", timeout_ms=100).call(records(1_000))


def test_a_blocking_function_waits_for_several_records_at_a_time(make: Callable[..., IsolatedCaller]) -> None:
    """And its results still come in order."""
    caller = make("waits", blocking=True)
    caller.check()
    took_s = []
    for _ in range(3):  # the best of three: a machine that stands still for a moment is not the caller's fault
        began_s = time.monotonic()
        assert [[n] for n in range(40)] == numbers(caller.call(records(40)).results)
        took_s.append(time.monotonic() - began_s)
    assert min(took_s) < 40 * 0.05 * 0.7


def test_a_close_ends_a_call_that_hangs_and_its_process(make: Callable[..., IsolatedCaller]) -> None:
    """A host that stops does not wait for a function."""
    caller = make("always_hangs", timeout_ms=60_000)
    raised: list[ClosedError] = []

    def call() -> None:
        try:
            caller.call(records(1))
        except ClosedError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not psutil.Process(os.getpid()).children():
        time.sleep(0.01)
    caller.close()
    thread.join(60)
    assert 1 == len(raised)
    assert [] == psutil.Process(os.getpid()).children()


def test_what_cannot_be_called_is_told_in_the_same_words(tmp_path: Path, make: Callable[..., IsolatedCaller]) -> None:
    """The host never imports a user's module, and still says what is wrong with it."""
    with pytest.raises(FunctionError, match="no function 'nothing'; it has: always_hangs, counted"):
        make("nothing").check()


def test_a_host_that_was_frozen_blames_no_record(
    make: Callable[..., IsolatedCaller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A paused machine pauses the function, too: when both wake up, it has not hung, it has not had its time."""
    started_s = time.monotonic()
    true_s = time.monotonic

    def after_a_pause() -> float:
        return true_s() + (3_600 if true_s() > started_s + 0.4 else 0)

    caller = make("waits_long", timeout_ms=1_600)
    caller.check()
    started_s = true_s()
    monkeypatch.setattr("services.isolated.caller.time.monotonic", after_a_pause)
    answers = caller.call(records(1))
    assert ([[0]], {}) == (numbers(answers.results), answers.errors)


def test_a_function_that_only_wastes_time_is_given_up_in_the_middle_of_a_chunk(
    make: Callable[..., IsolatedCaller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand calls that each run into a time-out of their own would hold a batch up for hours."""
    monkeypatch.setattr(calls, "WASTED_S_MAX", 0.2)
    caller = LocalCaller(specs.Python("in", "wild_rules:slow_to_fail"), allow=[make("tame")._allow[0]], gives_up=True)
    answers = caller.call(records(1_000))
    assert "without one success" in str(answers.given_up)
    assert len(answers.results) < 10
