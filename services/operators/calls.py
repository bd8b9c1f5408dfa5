"""Calls of a user's function: a chunk of records goes in, results, errors and new states come out.

Where the calls happen is the caller's affair: in this process (`LocalCaller`), or in another one that may hang or crash
without harm (`services.isolated`). Both run `LocalCaller.call`, so the results are the same.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import msgspec

from services.operators.batch import Value
from services.operators.failure import describe
from services.operators.functions import load
from services.operators.nesting import TOO_DEEP, is_too_deep
from services.operators.table import decode_value, encode_value
from topics.flow import specs

ATTEMPTS_MAX = 3
AT_A_TIME_MAX = 8
"""Calls of a blocking function that wait at the same time."""
WASTED_S_MAX = 30.0
"""So much time spent on calls that fail, without one that succeeds, and the function is given up."""

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[Value]).decode
_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder(list[Value]).decode

OnProgress = Callable[[int], None]
"""Called with the number of records that are done."""


class BrokenFunctionError(Exception):
    """The function fails on everything, or can't be called at all. None of its records is skipped: they wait."""


class Chunk(msgspec.Struct, array_like=True):
    """Records in order. With state: `groups[i]` says which of the `states` belongs to record i; None: none yet."""

    records: list[Value]
    groups: list[int] | None = None
    states: list[bytes | None] = []


class Error(msgspec.Struct, array_like=True):
    """Why a record failed, after so many attempts."""

    text: str
    attempts: int


class Answers(msgspec.Struct, array_like=True):
    """`results[i]` came of record i, unless there is an error for it; `states` are the new ones, by group.

    `given_up`: why the records after those that have results were not tried at all.
    """

    results: list[list[Value]]
    errors: dict[int, Error] = {}
    states: dict[int, bytes | None] = {}
    given_up: str | None = None


class Caller(Protocol):
    """`call` may be used by one thread at a time. `waits`: it takes its time, so a loop must not wait for it."""

    waits: bool

    def call(self, chunk: Chunk) -> Answers:
        """Call the function for each record. Raises BrokenFunctionError."""
        ...

    def check(self) -> None:
        """Raises FunctionError if the function may not or cannot be called."""
        ...

    def close(self) -> None:
        """Leave; a call that is under way is broken off."""
        ...


class LocalCaller:
    """Calls in this process. Raises FunctionError when it is made if the function can't be called.

    `gives_up`: whether it stops in the middle of a chunk when nothing but time goes by.
    """

    waits = False

    def __init__(self, spec: specs.Python, *, allow: Sequence[str], gives_up: bool = False) -> None:
        self._function = load(spec, allow=allow)
        self._settings = dict(spec.settings)
        self._pool = ThreadPoolExecutor(AT_A_TIME_MAX) if spec.blocking and not spec.state else None
        self._gives_up = gives_up
        self._wasted_s = 0.0

    def check(self) -> None:
        pass

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    def call(self, chunk: Chunk, on_progress: OnProgress = lambda _: None) -> Answers:
        answers = Answers([])
        began_s = time.monotonic()
        for i, answer in enumerate(self._each(chunk, answers)):
            now_s = time.monotonic()
            if isinstance(answer, Error):
                answers.results.append([])
                answers.errors[i] = answer
                self._wasted_s += now_s - began_s
            else:
                answers.results.append(answer)
                self._wasted_s = 0.0
            began_s = now_s
            on_progress(i + 1)
            if self._gives_up and self._wasted_s > WASTED_S_MAX:
                answers.given_up = f"its calls failed for {self._wasted_s:.0f} s without one success"
                break
        return answers

    def _each(self, chunk: Chunk, answers: Answers) -> Iterable[list[Value] | Error]:
        records = zip(copies(chunk.records), chunk.records, strict=True)
        if chunk.groups is not None:
            states = list(chunk.states)
            for (record, original), group in zip(records, chunk.groups, strict=True):
                yield self._attempts(record, original, group, states, answers)
        elif self._pool is not None:
            yield from self._pool.map(lambda pair: self._attempts(*pair), records)
        else:
            for record, original in records:
                yield self._attempts(record, original)

    def _attempts(
        self,
        record: Value,
        original: Value,
        group: int | None = None,
        states: list[bytes | None] | None = None,
        answers: Answers | None = None,
    ) -> list[Value] | Error:
        text = ""
        for _ in range(ATTEMPTS_MAX):
            try:
                if group is None or states is None or answers is None:
                    return _results(self._function(record, **self._settings))
                return self._with_state(record, group, states, answers)
            except MemoryError:
                raise  # the process has too little for anything, not only for this record
            except (Exception, SystemExit) as raised:  # noqa: BLE001 - whatever the user's code does, only its record fails
                text = describe(raised)
                (record,) = copies([original])
        return Error(text, ATTEMPTS_MAX)

    def _with_state(self, record: Value, group: int, states: list[bytes | None], answers: Answers) -> list[Value]:
        kept = states[group]
        state: dict[str, Any] = {} if kept is None else decode_value(kept)
        results = _results(self._function(record, state, **self._settings))
        packed = encode_value(state) if state else None
        if packed != kept:
            states[group] = answers.states[group] = packed
        return results


def _results(returned: Any) -> list[Value]:
    """What a function returned, as records of plain JSON types that nobody else holds."""
    if returned is None:
        return []
    if isinstance(returned, dict):
        returned = [returned]
    if not isinstance(returned, list) or not all(isinstance(each, dict) for each in returned):
        found = type(returned).__name__
        raise TypeError(f"returned {found}; expected a dict, a list of dicts, or None")
    results = _from_json(_to_json(returned))
    if any(map(is_too_deep, results)):
        raise ValueError(f"returned a record that is {TOO_DEEP}")
    return results


def copies(values: list[Value]) -> list[Value]:
    """The same values, as objects that nobody else holds."""
    try:
        return _unpack(_pack(values))
    except OverflowError:  # An integer beyond 64 bits, which MessagePack cannot carry.
        return _from_json(_to_json(values))
