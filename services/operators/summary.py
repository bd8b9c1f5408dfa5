"""Summary: the `emit` of an aggregate, as the accumulators it needs and the results they give.

    count()      how many records             count(x)     how many where x is not null
    sum(x)       0 where there is nothing     mean(x)      null where there is nothing
    min, max     null where there is nothing  first, last  by event time; null where there is nothing
    stddev(x)    of a sample (n - 1); null for fewer than two numbers
    distinct(x)  how many different values, exactly; remembers each of them

A group's state is a list with one slot for each different accumulator: mean(x) and stddev(x) share one sum of x.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from services.operators import accumulators as acc
from services.operators import exact
from services.operators.accumulators import State
from services.operators.batch import Value
from services.operators.columns import Columns
from services.operators.fold import Fold, Group, GroupStates, Partials
from services.operators.rows import Rows
from topics.expressions import Expression, compile_column
from topics.flow.specs import Aggregation


def _mean(count: int, total: exact.Sum) -> float | None:
    return exact.mean(total, count) if count else None


def _argument(state: State) -> Any:
    return None if state is None else state[1]


Result = Callable[..., Any] | None

# The accumulators of each function and what makes its result from their states; None where a state is the result.
_PLANS: dict[str, tuple[tuple[type[acc.Accumulator], ...], Result]] = {
    "count()": ((acc.Records,), None),
    "count": ((acc.Present,), None),
    "sum": ((acc.Total,), exact.number),
    "mean": ((acc.Numbers, acc.Total), _mean),
    "min": ((acc.Least,), None),
    "max": ((acc.Greatest,), None),
    "first": ((acc.Earliest,), _argument),
    "last": ((acc.Latest,), _argument),
    "stddev": ((acc.Numbers, acc.Total, acc.SquaresTotal), exact.stddev),
    "distinct": ((acc.Different,), len),
}


class Summary(Fold):
    """One row for each group: the `by` fields and the fields that `emit` names."""

    def __init__(self, by: Sequence[str], emit: Sequence[Aggregation]) -> None:
        self._by = Rows(by)
        slots: dict[tuple[type[acc.Accumulator], str | None], int] = {}
        self._accumulators: list[acc.Accumulator] = []
        self._arguments: list[Expression | None] = []
        self._results: list[tuple[str, Result, list[int]]] = []
        for aggregation in emit:
            argument = aggregation.argument
            kinds, result = _PLANS["count()" if argument is None else aggregation.function]
            text = None if argument is None else argument.text
            for kind in kinds:
                if (kind, text) not in slots:
                    slots[kind, text] = len(slots)
                    self._accumulators.append(kind())
                    self._arguments.append(argument)
            self._results.append((aggregation.name, result, [slots[kind, text] for kind in kinds]))
        self._readings = [(name, _reading(result, its_slots)) for name, result, its_slots in self._results]
        self._records_slot = slots.get((acc.Records, None))
        self._steps = [(accumulator.lift, accumulator.merge) for accumulator in self._accumulators]
        self._zeros = [accumulator.zero for accumulator in self._accumulators]
        self._readers = {each.text: compile_column(each) for each in self._arguments if each is not None}
        self._can_keep_states = not any(accumulator.merges_in_place for accumulator in self._accumulators)
        self.can_subtract = all(accumulator.subtract is not None for accumulator in self._accumulators)

    def zeros(self) -> GroupStates:
        return self._zeros.copy()

    def collect(self, groups: list[Group], values: list[Value], times: list[int]) -> tuple[Iterable[Group], Partials]:
        partials = [
            accumulator.collect(columns)
            for accumulator, columns in zip(self._accumulators, self._columns(groups, values, times), strict=True)
        ]
        touched = dict.fromkeys(groups) if self._records_slot is None else partials[self._records_slot]
        return touched, partials

    def absorb(self, partials: Partials, targets: dict[Group, GroupStates]) -> None:
        for slot, (accumulator, partial) in enumerate(zip(self._accumulators, partials, strict=True)):
            accumulator.absorb(partial, targets, slot)

    def arguments(self, values: list[Value]) -> list[tuple[Any, ...]]:
        columns = {text: read(values) for text, read in self._readers.items()}
        return list(zip(*[values if each is None else columns[each.text] for each in self._arguments], strict=True))

    def add(self, states: GroupStates, arguments: tuple[Any, ...], time_ms: int) -> bool:
        for slot, (lift, merge) in enumerate(self._steps):
            state = lift(arguments[slot], time_ms)
            if state is not None:
                states[slot] = merge(states[slot], state)
        return True

    def follow(
        self, groups: list[Group], states_of: list[GroupStates], values: list[Value], times: list[int]
    ) -> tuple[list[Value], list[int] | None]:
        if not self._can_keep_states:
            return super().follow(groups, states_of, values, times)
        # A column at a time: the states after each record, then the results that they make, then rows around them.
        followed = [
            accumulator.follow(columns, states_of, slot)
            for slot, (accumulator, columns) in enumerate(
                zip(self._accumulators, self._columns(groups, values, times), strict=True)
            )
        ]
        unfilled = dict.fromkeys(name for name, _, _ in self._results)
        empty_rows = {group: self._by.fields(group) | unfilled for group in dict.fromkeys(groups)}
        rows = list(map(dict.copy, map(empty_rows.__getitem__, groups)))
        for name, result, slots in self._results:
            for row, value in zip(rows, _results(result, [followed[slot] for slot in slots]), strict=True):
                row[name] = value
        return rows, None

    def merge(self, left: GroupStates, right: GroupStates) -> None:
        for slot, accumulator in enumerate(self._accumulators):
            left[slot] = accumulator.merge(left[slot], right[slot])

    def subtract(self, left: GroupStates, right: GroupStates) -> None:
        for slot, accumulator in enumerate(self._accumulators):
            assert accumulator.subtract is not None, accumulator
            left[slot] = accumulator.subtract(left[slot], right[slot])

    def rows(self, group: Group, states: GroupStates) -> list[Value]:
        row = self._by.fields(group)
        for name, read in self._readings:
            row[name] = read(states)
        return [row]

    def _columns(self, groups: list[Group], values: list[Value], times: list[int]) -> list[Columns]:
        """For each accumulator the column that it reads; those of one argument share theirs."""
        by_argument = {text: Columns(groups, read(values), times) for text, read in self._readers.items()}
        bare = Columns(groups, values, times)
        return [bare if argument is None else by_argument[argument.text] for argument in self._arguments]


def _reading(result: Result, slots: list[int]) -> Callable[[GroupStates], Any]:
    read = itemgetter(*slots)
    if result is None:
        return read
    if len(slots) == 1:
        return lambda states: result(read(states))
    return lambda states: result(*read(states))


def _results(result: Result, columns: list[list[State]]) -> Sequence[Any]:
    """The results that columns of states make."""
    if result is None:
        return columns[0]
    return exact.numbers(columns[0]) if result is exact.number else list(map(result, *columns))
