"""What an aggregate remembers of its records: small sums that can be added to, merged, and some taken apart again.

Each accumulator is a monoid over states that MessagePack can carry. `zero` is the state of no record, `lift` that of
one record (None: the record does not count), `merge` joins two, the right one later in order of arrival. `collect`
does both for a whole batch, as fast as it can: the states of its groups. Where `subtract` exists it undoes `merge`,
exactly. `merge` and `subtract` may reuse the state on the left, which their caller owns; they leave the right one as
it is.

An argument that is null is left out by all of them. Sums take finite numbers only, min and max what has an order
(`ordering`); anything else counts as null, as everywhere in expressions.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from services.operators import exact
from services.operators.columns import Columns, is_number
from services.operators.ordering import sort_key

State = Any
States = dict[Any, State]

_canonical = msgspec.json.Encoder(order="deterministic").encode


class Accumulator:
    """One kind of memory; subclasses say what it holds."""

    zero: State = 0
    subtract: Callable[[State, State], State] | None = None
    merges_in_place = False
    """Whether `merge` may change its left state, so that nobody can keep it."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        """The state of one record, None if it does not count."""
        raise NotImplementedError

    def merge(self, left: State, right: State) -> State:
        """Both states together; `right` came later."""
        raise NotImplementedError

    def collect(self, columns: Columns) -> States:
        """The state of each group in a batch; groups in which no record counts may be missing."""
        lift, merge = self.lift, self.merge
        states: States = {}
        for group, value, time_ms in zip(columns.groups, columns.values, columns.times, strict=True):
            state = lift(value, time_ms)
            if state is not None:
                states[group] = merge(states[group], state) if group in states else state
        return states

    def absorb(self, partial: States, targets: dict[Any, list[State]], slot: int) -> None:
        """Merge collected states into the slot that is ours in each group's list of states."""
        merge = self.merge
        for group, state in partial.items():
            states = targets[group]
            states[slot] = merge(states[slot], state)

    def follow(self, columns: Columns, states_of: Sequence[list[State]], slot: int) -> list[State]:
        """Merge each record, one after the other, into our slot of its own list of states; the state after each."""
        lift, merge = self.lift, self.merge
        followed: list[State] = []
        for states, value, time_ms in zip(states_of, columns.values, columns.times, strict=True):
            state = lift(value, time_ms)
            if state is not None:
                states[slot] = merge(states[slot], state)
            followed.append(states[slot])
        return followed


class _Adding(Accumulator):
    """States are numbers."""

    def merge(self, left: State, right: State) -> State:
        return left + right

    def subtract(self, left: State, right: State) -> State:
        return left - right

    def absorb(self, partial: States, targets: dict[Any, list[State]], slot: int) -> None:
        for group, state in partial.items():
            targets[group][slot] += state


class Records(_Adding):
    """How many records there are: count()."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        return 1

    def collect(self, columns: Columns) -> States:
        return Counter(columns.groups)

    def follow(self, columns: Columns, states_of: Sequence[list[State]], slot: int) -> list[State]:
        followed: list[State] = []
        for states in states_of:
            states[slot] = count = states[slot] + 1
            followed.append(count)
        return followed


class Present(_Adding):
    """How many arguments are not null: count(x)."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        return None if value is None else 1

    def collect(self, columns: Columns) -> States:
        return Counter(columns.present.groups)


class Numbers(_Adding):
    """How many arguments are finite numbers: what mean and stddev divide by."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        return 1 if is_number(value) else None

    def collect(self, columns: Columns) -> States:
        return Counter(columns.numeric.groups)


class Total(Accumulator):
    """The exact sum of the numbers."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        if type(value) is int:
            return value
        return exact.total((value,)) if is_number(value) else None

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def subtract(self, left: State, right: State) -> State:
        return exact.subtract(left, right)

    def collect(self, columns: Columns) -> States:
        numeric = columns.numeric
        if numeric.are_integers:
            totals: States = defaultdict(int)
            for group, value in zip(numeric.groups, numeric.values, strict=True):
                totals[group] += value
            return totals
        sum_up = exact.total_of_floats if numeric.are_small_floats else exact.total
        return {group: sum_up(values) for group, values in numeric.by_group.items()}

    def absorb(self, partial: States, targets: dict[Any, list[State]], slot: int) -> None:
        for group, state in partial.items():
            states = targets[group]
            before = states[slot]
            states[slot] = before + state if type(before) is type(state) is int else exact.add(before, state)

    def follow(self, columns: Columns, states_of: Sequence[list[State]], slot: int) -> list[State]:
        if not columns.are_integers:
            return super().follow(columns, states_of, slot)
        followed: list[State] = []
        for states, value in zip(states_of, columns.values, strict=True):
            before = states[slot]
            states[slot] = total = before + value if type(before) is int else exact.add(before, value)
            followed.append(total)
        return followed


class SquaresTotal(Accumulator):
    """The exact sum of the numbers' squares."""

    def lift(self, value: Any, time_ms: int) -> State | None:
        return exact.total_of_squares((value,)) if is_number(value) else None

    def merge(self, left: State, right: State) -> State:
        return exact.add_squares(left, right)

    def subtract(self, left: State, right: State) -> State:
        return exact.subtract_squares(left, right)

    def collect(self, columns: Columns) -> States:
        numeric = columns.numeric
        if numeric.are_integers:
            totals: States = defaultdict(int)
            for group, value in zip(numeric.groups, numeric.values, strict=True):
                totals[group] += value * value
            return totals
        return {group: exact.total_of_squares(values) for group, values in numeric.by_group.items()}


class _Extreme(Accumulator):
    """The value that comes first in some order; of equal ones (1 and 1.0) the one that came first."""

    zero = None
    pick: Callable[..., Any]

    def lift(self, value: Any, time_ms: int) -> State | None:
        return None if sort_key(value) is None else value

    def collect(self, columns: Columns) -> States:
        if columns.numeric is not columns:
            return super().collect(columns)
        return {group: self.pick(values) for group, values in columns.by_group.items()}


class Least(_Extreme):
    """The smallest argument."""

    pick = staticmethod(min)

    def merge(self, left: State, right: State) -> State:
        if left is None or (right is not None and sort_key(right) < sort_key(left)):  # type: ignore[operator]
            return right
        return left


class Greatest(_Extreme):
    """The largest argument."""

    pick = staticmethod(max)

    def merge(self, left: State, right: State) -> State:
        if left is None or (right is not None and sort_key(right) > sort_key(left)):  # type: ignore[operator]
            return right
        return left


class _Timed(Accumulator):
    """States are [event time, argument]."""

    zero = None

    def lift(self, value: Any, time_ms: int) -> State | None:
        return None if value is None else [time_ms, value]


class Earliest(_Timed):
    """The argument with the smallest event time; of several, the one that came first."""

    def merge(self, left: State, right: State) -> State:
        return right if left is None or (right is not None and right[0] < left[0]) else left


class Latest(_Timed):
    """The argument with the largest event time; of several, the one that came last."""

    def merge(self, left: State, right: State) -> State:
        return right if left is None or (right is not None and right[0] >= left[0]) else left


class Different(Accumulator):
    """How often each different argument came, by its JSON; 1 and 1.0 are the same, as in `1 == 1.0`."""

    zero: State = {}  # noqa: RUF012 - shared, so never changed: see merge
    merges_in_place = True

    def lift(self, value: Any, time_ms: int) -> State | None:
        return None if value is None else {_json(value): 1}

    def merge(self, left: State, right: State) -> State:
        if not left:
            return dict(right)
        for value, count in right.items():
            left[value] = left.get(value, 0) + count
        return left

    def subtract(self, left: State, right: State) -> State:
        for value, count in right.items():
            if left[value] == count:
                del left[value]
            else:
                left[value] -= count
        return left

    def collect(self, columns: Columns) -> States:
        present = columns.present
        states: States = defaultdict(Counter)
        for group, value in zip(present.groups, present.values, strict=True):
            states[group][_json(value)] += 1
        return states


def _json(value: Any) -> str:
    if type(value) is float and value.is_integer():
        value = int(value)
    return _canonical(value).decode()
