"""Python: the user's own function, called for each record.

Without state it is `f(record)`, with state `f(record, state)`, where `state` is a dictionary that belongs to the
record's `by` values and is empty at first; `settings` come as keyword arguments. It returns one record (a dictionary),
several (a list of dictionaries) or None for none. Results keep key and time of the record that they come from.

The function cannot harm its neighbours: it gets a copy of the record, its results are taken as their JSON would say,
and state is kept as bytes, so that it is the same before and after a move. State that is empty after a call is
forgotten. When the function raises, returns anything else, or leaves state that cannot be kept, it is tried again a few
times from the same state; then the record is a failure, state stays as it was, and the other records go on.
"""

from typing import Any

from services.operators.batch import Batch, Value
from services.operators.calls import BrokenFunctionError, Caller, Chunk
from services.operators.failure import Failure
from services.operators.keys import group_reader
from services.operators.operator import Operator
from services.operators.table import Table
from topics.flow import specs

CHUNK_RECORDS = 1_000
"""What is called at a time, and called again if the caller's process has to be ended."""


class Python(Operator):
    """Calls the function record by record; `failures` collects the records that it could not process."""

    def __init__(self, name: str, spec: specs.Python, caller: Caller, *, failures: list[Failure]) -> None:
        self.caller = caller
        self._name = name
        self._failures = failures
        self._groups = group_reader(spec.by) if spec.state else None
        self._state = Table()
        if spec.state:
            self.tables = {"state": self._state}
            self.disk_tables = ("state",)

    def process(self, batch: Batch, port: int) -> Batch:
        if not batch.values:
            return batch
        groups = self._groups(batch.values) if self._groups is not None else None
        values: list[Value] = []
        positions: list[int] = []
        for start in range(0, len(batch), CHUNK_RECORDS):
            end = start + CHUNK_RECORDS
            called = self._called(batch, start, groups[start:end] if groups is not None else None)
            for i, results in enumerate(called, start):
                values += results
                positions += [i] * len(results)
        return batch.take(positions).with_values(values)

    def _called(self, batch: Batch, start: int, groups: list[Any] | None) -> list[list[Value]]:
        """What came of some records; those that failed are noted, and state is kept."""
        chunk = Chunk(batch.values[start : start + CHUNK_RECORDS])
        numbers: dict[Any, int] = {}
        if groups is not None:
            chunk.groups = [numbers.setdefault(group, len(numbers)) for group in groups]
            chunk.states = [self._state.data.get(group) for group in numbers]
        answers = self.caller.call(chunk)
        if answers.given_up is not None:
            raise BrokenFunctionError(f"{self._name}: {answers.given_up}{_last(list(answers.errors.values()))}")
        for i, error in answers.errors.items():
            at = start + i
            self._failures.append(Failure(self._name, batch.offsets[at], error.text, batch.values[at], error.attempts))
        named = list(numbers)
        for number, state in answers.states.items():
            if state is None:
                self._state.remove(named[number])
            else:
                self._state.put(named[number], state)
        return answers.results


def _last(errors: list[Any]) -> str:
    return f"; the last error: {errors[-1].text}" if errors else ""
