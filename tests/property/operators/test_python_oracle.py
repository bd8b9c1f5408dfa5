"""The python operator against plain calls of the same function, however its input is cut and wherever it runs."""

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.batch import Batch
from services.operators.calls import LocalCaller
from services.operators.failure import Failure
from services.operators.python import Python
from services.operators.table import entries_of
from topics.flow import specs

MODULE = "functions_for_the_python_oracle"


def stateless(record: dict[str, Any], limit: int = 3) -> Any:
    """Does what careless users do: changes its argument, returns it, raises, returns nonsense."""
    n = record["n"]
    record["nested"]["seen"] = True
    record["n"] = n + 1
    return {0: record, 1: None, 2: [], 3: [record, {"twin": n}], 4: "text", 5: [1]}.get(n, {"over": n > limit})


def counting(record: dict[str, Any], state: dict[str, Any]) -> Any:
    """Fails half-way, after it has changed its state."""
    state["count"] = state.get("count", 0) + 1
    state.setdefault("log", []).append(record["n"])
    if record["n"] == 7:
        raise ValueError("seven")
    if record["n"] == 8:
        state.clear()
        return None
    return {"count": state["count"], "log": state["log"]}


@pytest.fixture(autouse=True, scope="module")
def user_module() -> Iterator[None]:
    module = types.ModuleType(MODULE)
    vars(module).update(stateless=stateless, counting=counting)
    sys.modules[MODULE] = module
    yield
    del sys.modules[MODULE]


def records(drawn: bytes) -> list[dict[str, Any]]:
    return [{"n": byte % 10, "k": "ab"[byte // 128], "nested": {}} for byte in drawn]


def make(call: str, failures: list[Failure], **options: Any) -> Python:
    spec = specs.Python("in", f"{MODULE}:{call}", **options)
    return Python("p", spec, LocalCaller(spec, allow=[MODULE]), failures=failures)


def cut(values: list[dict[str, Any]], cuts: bytes) -> Iterator[Batch]:
    start = 0
    for size in [*(each % 6 for each in cuts), len(values)]:
        stop = min(start + size, len(values))
        keys: list[bytes | None] = [str(offset).encode() for offset in range(start, stop)]
        yield Batch(values[start:stop], keys, [offset * 10 for offset in range(start, stop)], range(start, stop), stop)
        start = stop


@settings(max_examples=500)
@given(st.binary(max_size=20), st.binary(max_size=5), st.integers(5, 9))
def test_a_function_is_called_for_each_record_and_only_failing_records_are_lost(drawn, cuts, limit) -> None:
    """One bad record, or one bad function, must never stop a flow or touch its neighbours."""
    values = records(drawn)
    expected, failed = [], []
    for offset, value in enumerate(values):
        n = value["n"]
        if n in (4, 5):
            failed.append(offset)
        elif n not in (1, 2):
            changed = {"n": n + 1, "k": value["k"], "nested": {"seen": True}}
            results = {0: [changed], 3: [changed, {"twin": 3}]}.get(n, [{"over": n > limit}])
            expected += [(result, str(offset).encode(), offset * 10, offset) for result in results]
    failures: list[Failure] = []
    operator = make("stateless", failures, settings=(("limit", limit),))
    found = []
    for batch in cut(values, cuts):
        output = operator.process(batch, 0)
        assert batch.watermark_ms == output.watermark_ms
        found += zip(output.values, output.keys, output.times, output.offsets, strict=True)
    assert expected == found
    assert failed == [failure.offset for failure in failures]
    assert records(drawn) == values
    assert records(drawn)[:1] == values[:1]


@settings(max_examples=500)
@given(st.binary(max_size=20), st.binary(max_size=5), st.booleans())
def test_state_belongs_to_its_key_and_a_failed_call_leaves_it_as_it_was(drawn, cuts, moves) -> None:
    """Otherwise a retried or replayed record would count twice, and a move would change results."""
    values = records(drawn)
    states: dict[str, list[int]] = {}
    expected, failed = [], []
    for offset, value in enumerate(values):
        if value["n"] == 7:
            failed.append((offset, "ValueError: seven", 3))
        elif value["n"] == 8:
            states.pop(value["k"], None)
        else:
            log = states.setdefault(value["k"], [])
            log.append(value["n"])
            expected.append({"count": len(log), "log": list(log)})
    failures: list[Failure] = []
    operator = make("counting", failures, state=True, by=("k",))
    changelog: dict[bytes, bytes | None] = {}
    found = []
    for batch in cut(values, cuts):
        found += operator.process(batch, 0).values
        if moves:
            changelog.update(operator.tables["state"].drain())
            operator = make("counting", failures, state=True, by=("k",))
            operator.restore("state", entries_of(changelog.items()))
    assert expected == found
    assert failed == [(failure.offset, failure.error, failure.attempts) for failure in failures]
    assert states.keys() == operator.tables["state"].data.keys()
