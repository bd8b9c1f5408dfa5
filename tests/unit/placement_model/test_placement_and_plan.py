"""Placements and plans as values: sorted, hashable, and the same word for the same thing."""

import pytest

from placement.model import ModelError, Move, Placement, Plan, Tap

HERE = {("f", "a"): "h0", ("f", "b"): "h1", ("g", "a"): "h0"}


def test_equal_placements_are_equal_values_whatever_the_order() -> None:
    """They are keys, and they are compared across processes."""
    turned = Placement.of(dict(reversed(HERE.items())))
    assert Placement.of(HERE) == turned
    assert hash(Placement.of(HERE)) == hash(turned)


def test_merging_replaces_a_flow_as_a_whole() -> None:
    """A new placement of f must not keep a task of the old one."""
    merged = Placement.of(HERE).merged(Placement.of({("f", "a"): "h5"}, (Tap("f", "b", "g", "a"),)))
    assert {("f", "a"): "h5", ("g", "a"): "h0"} == merged.hosts
    assert ("f", "g") == merged.flows
    assert merged.of_flow("g") == Placement.of(HERE).of_flow("g")


def test_a_task_has_one_place() -> None:
    """Two hosts for one task would be two owners."""
    with pytest.raises(ModelError, match="placed twice"):
        Placement((("f", "a", "h0"), ("f", "a", "h1")))


def test_a_plan_lists_the_moves_between_two_placements() -> None:
    """Started, stopped and moved tasks; what stays is no move."""
    old = Placement.of({("f", "a"): "h0", ("f", "b"): "h1", ("f", "c"): "h2", ("g", "a"): "h0"})
    new = Placement.of({("f", "a"): "h0", ("f", "b"): "h3", ("f", "d"): "h4"})
    plan = Plan.between("f", 7, old, new)
    assert (Move("f", "b", "h1", "h3"), Move("f", "c", "h2", None), Move("f", "d", None, "h4")) == plan.moves
    assert new == plan.placement


def test_the_hash_covers_all_that_a_host_would_act_on() -> None:
    """What was approved is what runs: another epoch, host, tap or move is another plan."""
    base = Plan.between("f", 1, Placement(), Placement.of({("f", "a"): "h0"}))
    others = [
        Plan.between("f", 2, Placement(), Placement.of({("f", "a"): "h0"})),
        Plan.between("f", 1, Placement(), Placement.of({("f", "a"): "h1"})),
        Plan.between("f", 1, Placement.of({("f", "a"): "h2"}), Placement.of({("f", "a"): "h0"})),
        Plan.between("f", 1, Placement(), Placement.of({("f", "a"): "h0"}, (Tap("f", "b", "g", "b"),))),
    ]
    assert 5 == len({plan.hash for plan in (base, *others)})
    assert "591e4a84c1a45b0f" == base.hash, "the hash must not depend on the process or the version"


def test_a_plan_speaks_of_one_flow() -> None:
    """Plans are approved flow by flow."""
    with pytest.raises(ModelError, match="also places g"):
        Plan("f", 0, Placement.of(HERE), ())
