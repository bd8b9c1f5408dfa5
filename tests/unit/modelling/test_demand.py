"""What came to operators: what was done, and what waits since."""

from collections.abc import Mapping

import numpy as np
import pytest

from services.modelling.demand import Demand
from services.modelling.flow_ends import FlowEnds
from services.modelling.flow_facts import FlowFacts
from services.modelling.operators import Operators
from services.modelling.ring import Array
from services.modelling.sums import SEPARATOR

KEPT, COUNTED = ("edge-1", "talk", "talk.aa", "kept"), ("edge-1", "talk", "talk.aa", "counted")
FACTS = {"talk": FlowFacts(None, (("counted", "kept"),), frozenset({"counted"}))}


def came(seats: Mapping[tuple[str, ...], Mapping[str, list[float]]], flows: Mapping[str, FlowFacts] = FACTS) -> Array:
    """Of these seats, whose seconds are told one by one; rows are 1 unless said otherwise."""
    operators = Operators([SEPARATOR.join(seat) for seat in seats], np.arange(len(seats)))
    length = len(next(iter(seats.values()))["arrivals"])
    window = {
        name: np.array([told.get(name, [default] * length) for told in seats.values()])
        for name, default in (("arrivals", 0.0), ("lag", 0.0), ("rows", 1.0))
    }
    return Demand(operators, FlowEnds.of(operators.parts, flows).is_first).came(window)


def test_what_waits_more_than_before_came_as_well() -> None:
    """And while a backlog is worked off, less came than was done."""
    found = came({KEPT: {"arrivals": [100.0, 100.0, 100.0, 100.0], "lag": [0.0, 50.0, 80.0, 20.0]}})
    assert [[100.0, 150.0, 130.0, 40.0]] == found.tolist()


def test_operators_further_on_would_have_seen_their_usual_share() -> None:
    seats = {
        KEPT: {"arrivals": [100.0, 100.0], "lag": [0.0, 40.0]},
        COUNTED: {"arrivals": [25.0, 25.0], "lag": [0.0, 40.0]},
    }
    assert [[100.0, 140.0], [25.0, 35.0]] == came(seats).tolist()


def test_the_first_operator_gets_each_record_once_though_a_later_one_gets_more() -> None:
    """A flat_map makes four of each."""
    seats = {
        KEPT: {"arrivals": [100.0, 100.0], "lag": [0.0, 40.0]},
        COUNTED: {"arrivals": [400.0, 400.0], "lag": [0.0, 40.0]},
    }
    assert [[100.0, 140.0], [400.0, 560.0]] == came(seats).tolist()


def test_what_waited_when_a_task_was_first_heard_of_had_come_before() -> None:
    """A task that was moved would else seem to get all its backlog in one second."""
    found = came({KEPT: {"arrivals": [0.0, 100.0, 100.0], "lag": [0.0, 900.0, 800.0], "rows": [0.0, 1.0, 1.0]}})
    assert [[0.0, 100.0, 0.0]] == found.tolist()


def test_a_second_that_was_not_told_is_no_empty_queue() -> None:
    """A host that is busy skips one: the whole backlog would have come in the next."""
    told = {"arrivals": [100.0, 100.0, 0.0, 200.0, 100.0], "lag": [5e3, 5e3, 0.0, 5e3, 5e3]}
    assert [[100.0, 100.0, 0.0, 200.0, 100.0]] == came({KEPT: {**told, "rows": [1.0, 1.0, 0.0, 1.0, 1.0]}}).tolist()


def test_a_partition_that_joins_another_brings_no_arrivals_with_its_backlog() -> None:
    """Moves away from hot spots do just that."""
    found = came({KEPT: {"arrivals": [100.0, 200.0, 200.0], "lag": [0.0, 900.0, 950.0], "rows": [1.0, 2.0, 2.0]}})
    assert [[100.0, 200.0, 250.0]] == found.tolist()


def test_of_two_inputs_the_one_that_gets_little_has_little_of_what_waits() -> None:
    """Nobody tells which of them waits."""
    other = (*KEPT[:3], "other")
    seats = {
        KEPT: {"arrivals": [1_000.0, 1_000.0], "lag": [0.0, 500.0]},
        other: {"arrivals": [10.0, 10.0], "lag": [0.0, 500.0]},
    }
    assert [[1_000.0, 1_500.0], [10.0, 15.0]] == came(seats, {"talk": FlowFacts(None, (), frozenset())}).tolist()


def test_a_task_that_falls_silent_has_nothing_left() -> None:
    """It was moved away with its backlog, or is done: that less than nothing came would be nonsense."""
    found = came({KEPT: {"arrivals": [100.0, 0.0], "lag": [50.0, 0.0], "rows": [1.0, 0.0]}})
    assert [[100.0, 0.0]] == found.tolist()


@pytest.mark.parametrize("flows", [{}, {"talk": FlowFacts(None, (), frozenset())}])
def test_of_a_flow_that_nobody_knows_the_operator_that_gets_most_counts_as_the_first(
    flows: Mapping[str, FlowFacts],
) -> None:
    seats = {
        KEPT: {"arrivals": [100.0, 100.0], "lag": [0.0, 40.0]},
        COUNTED: {"arrivals": [25.0, 25.0], "lag": [0.0, 40.0]},
    }
    assert [[100.0, 140.0], [25.0, 35.0]] == came(seats, flows).tolist()
