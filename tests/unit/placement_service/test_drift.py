"""Whether a plan's world has changed, and in which words a person is told."""

import pytest

from services.placement.drift import DriftParams, drifted

THEN = {
    "orders.rate_per_s": 1_000.0,
    "a -> b.delay_ms": 20.0,
    "b.busy_share": 0.2,
    "now.cost_ms": 50.0,
}


def test_a_world_that_changed_a_little_is_the_same() -> None:
    """Nothing that is measured is the same twice; and what one side does not know can't be compared."""
    now = {
        "orders.rate_per_s": 1_100.0,
        "a -> b.delay_ms": 22.0,
        "b.busy_share": 0.34,
        "now.cost_ms": 45.0,
        "c.busy_share": 0.9,
    }
    assert [] == drifted(THEN, now, DriftParams())
    assert [] == drifted(THEN, {}, DriftParams())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("orders.rate_per_s", 2_000.0, "source orders gave 1000.0 records/s then and 2000.0 records/s now"),
        ("a -> b.delay_ms", 30.0, "the way a -> b took 20.0 ms then and 30.0 ms now"),
        ("b.busy_share", 0.8, "host b was busy for 20% of its time then and 80% of its time now"),
        ("now.cost_ms", 25.0, "the flow where it runs cost 50.0 ms then and 25.0 ms now"),
    ],
)
def test_what_changed_is_named_with_both_figures(name: str, value: float, words: str) -> None:
    """A refusal that says only that something changed sends a person looking."""
    assert [words] == drifted(THEN, THEN | {name: value}, DriftParams())


def test_the_largest_change_comes_first() -> None:
    """It is the reason; the others may follow from it."""
    now = THEN | {"orders.rate_per_s": 1_250.0, "a -> b.delay_ms": 80.0}
    assert ["the way", "source o"] == [
        words[:7] if "way" in words else words[:8] for words in drifted(THEN, now, DriftParams())
    ]


def test_a_change_below_what_can_be_measured_is_none() -> None:
    """A delay of half a millisecond that doubles is still a short one; an idle source that wakes is not idle."""
    then = {"a -> b.delay_ms": 0.5, "orders.rate_per_s": 0.1}
    assert [] == drifted(then, {"a -> b.delay_ms": 2.0, "orders.rate_per_s": 0.5}, DriftParams())
    assert 1 == len(drifted(then, {"a -> b.delay_ms": 0.5, "orders.rate_per_s": 50.0}, DriftParams()))
