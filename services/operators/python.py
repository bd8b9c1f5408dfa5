"""Python: the user's own function, called for each record.

Without state it is `f(record)`, with state `f(record, state)`, where `state` is a dictionary that belongs to the
record's `by` values and is empty at first; `settings` come as keyword arguments. It returns one record (a dictionary),
several (a list of dictionaries) or None for none. Results keep key and time of the record that they come from.

The function cannot harm its neighbours: it gets a copy of the record, its results are taken as their JSON would say,
and state is kept as bytes, so that it is the same before and after a move. State that is empty after a call is
forgotten. When the function raises, returns anything else, or leaves state that cannot be kept, it is tried again a few
times from the same state; then the record is a failure, state stays as it was, and the other records go on.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from services.operators.batch import Batch, Value
from services.operators.failure import Failure, describe
from services.operators.functions import load
from services.operators.keys import group_reader
from services.operators.nesting import TOO_DEEP, is_too_deep
from services.operators.operator import Operator
from services.operators.table import Table, decode_value, encode_value
from topics.flow import specs

ATTEMPTS_MAX = 3

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[Value]).decode
_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder(list[Value]).decode


class Python(Operator):
    """Calls the function record by record; `failures` collects the records that it could not process."""

    def __init__(self, name: str, spec: specs.Python, *, allow: Sequence[str], failures: list[Failure]) -> None:
        self._name = name
        self._call = load(spec, allow=allow)
        self._settings = dict(spec.settings)
        self._failures = failures
        self._groups = group_reader(spec.by) if spec.state else None
        self._state = Table()
        if spec.state:
            self.tables = {"state": self._state}

    def process(self, batch: Batch, port: int) -> Batch:
        if not batch.values:
            return batch
        groups = self._groups(batch.values) if self._groups is not None else None
        values: list[Value] = []
        positions: list[int] = []
        for i, record in enumerate(_copies(batch.values)):
            results = self._attempts(batch, i, record, groups)
            values += results
            positions += [i] * len(results)
        return batch.take(positions).with_values(values)

    def _attempts(self, batch: Batch, i: int, record: Value, groups: list[Any] | None) -> list[Value]:
        error = ""
        for _ in range(ATTEMPTS_MAX):
            try:
                if groups is None:
                    return _results(self._call(record, **self._settings))
                return self._with_state(record, groups[i])
            except (Exception, SystemExit) as raised:  # noqa: BLE001 - whatever the user's code does, only its record fails
                error = describe(raised)
                (record,) = _copies([batch.values[i]])
        self._failures.append(Failure(self._name, batch.offsets[i], error, batch.values[i], ATTEMPTS_MAX))
        return []

    def _with_state(self, record: Value, group: Any) -> list[Value]:
        kept = self._state.data.get(group)
        state: dict[str, Any] = {} if kept is None else decode_value(kept)
        results = _results(self._call(record, state, **self._settings))
        if not state:
            self._state.remove(group)
        elif (packed := encode_value(state)) != kept:
            self._state.put(group, packed)
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


def _copies(values: list[Value]) -> list[Value]:
    try:
        return _unpack(_pack(values))
    except OverflowError:  # An integer beyond 64 bits, which MessagePack cannot carry.
        return _from_json(_to_json(values))
