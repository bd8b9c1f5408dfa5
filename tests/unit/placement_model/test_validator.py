"""The one validator: each rule is broken once, alone, and must be the only complaint."""

import pytest

from placement.model import (
    Edge,
    Flow,
    Host,
    Link,
    ModelError,
    Placement,
    Problem,
    RoutedNetwork,
    Rule,
    Sink,
    Source,
    Tap,
    Task,
    chain,
    violations,
)
from placement.queueing import IDLE, Load, Stream


def two_flows() -> tuple[Flow, Flow]:
    """Each loads a host of capacity 1 by 0.2 a task; their first tasks are equal."""
    return (
        chain(
            "f",
            Source("in", "h0", 0.1, message_bytes=100.0),
            (Task("first", 2.0, identity="parse", output_bytes=100.0), Task("second", 2.0, output_bytes=100.0)),
            Sink("out", "h2"),
        ),
        chain(
            "g",
            Source("in", "h0", 0.1, message_bytes=100.0),
            (Task("first", 2.0, identity="parse", output_bytes=100.0), Task("second", 2.0, output_bytes=100.0)),
            Sink("out", "h2"),
        ),
    )


def problem(*, bandwidth: float = 1000.0, background: float = 0.0) -> Problem:
    """Three hosts in a row and one, h3, that takes no task."""
    hosts = (Host("h0"), Host("h1"), Host("h2"), Host("h3", capacity=0.0))
    links = tuple(Link(f"h{i}", f"h{i + 1}", 1.0, bandwidth) for i in range(3))
    loads = tuple(Stream(0.1, 10.0 * background, 1.0, 1.0, 1.0).load(1.0) for _ in hosts)
    return Problem(RoutedNetwork(hosts, links), two_flows(), background=loads)


GOOD = {
    ("f", "first"): "h0",
    ("f", "second"): "h1",
    ("g", "first"): "h1",
    ("g", "second"): "h2",
}


def broken(change: dict[tuple[str, str], str | None], *taps: Tap) -> Placement:
    """The good placement with some spots changed, or dropped (None)."""
    spots = {**GOOD, **change}
    return Placement.of({key: host for key, host in spots.items() if host is not None}, taps)


def test_a_good_placement_passes() -> None:
    """Else nothing could ever run."""
    assert () == violations(problem(), Placement.of(GOOD))


def test_ends_may_be_named_where_they_are_pinned() -> None:
    """A placement read back from the registry names them."""
    assert () == violations(problem(), broken({("f", "in"): "h0", ("f", "out"): "h2"}))


TAP = Tap("g", "first", "f", "first")


@pytest.mark.parametrize(
    ("placement", "rule"),
    [
        (broken({("x", "first"): "h0"}), Rule.UNKNOWN),
        (broken({("f", "third"): "h0"}), Rule.UNKNOWN),
        (broken({("f", "out"): "h1"}), Rule.PINNED),
        (broken({("f", "in"): "h2"}), Rule.PINNED),
        (broken({("f", "second"): None}), Rule.INCOMPLETE),
        (broken({("f", "second"): "h3"}), Rule.CAPACITY),
        (broken({("g", "first"): None}, Tap("g", "first", "f", "second")), Rule.REUSE),
        (broken({("g", "first"): None}, Tap("g", "first", "f", "third")), Rule.REUSE),
        (broken({("g", "first"): None}, Tap("g", "first", "x", "first")), Rule.REUSE),
        (broken({("g", "first"): None}, Tap("g", "first", "g", "second")), Rule.REUSE),
        (broken({}, TAP), Rule.IDLE),
    ],
)
def test_each_planted_violation_is_the_only_complaint(placement: Placement, rule: Rule) -> None:
    """A validator that misses one lets it run; one that says too much hides the cause."""
    found = violations(problem(), placement)
    assert [rule] == [each.rule for each in found], found
    assert found[0].message


def test_a_host_that_is_not_there_is_unknown_and_its_task_has_no_place() -> None:
    """A placement made before a host died must not pass after."""
    assert Rule.UNKNOWN in {each.rule for each in violations(problem(), broken({("f", "second"): "h9"}))}


def test_a_sound_tap_passes_and_frees_its_host() -> None:
    """Reuse is the point: one task serves both flows."""
    assert () == violations(problem(), broken({("g", "first"): None}, TAP))


def test_a_tap_of_a_task_that_runs_nowhere_is_refused() -> None:
    """Its own flow would be incomplete too; both are said."""
    placement = broken({("g", "first"): None, ("f", "first"): None}, TAP)
    assert {Rule.INCOMPLETE, Rule.REUSE} == {each.rule for each in violations(problem(), placement)}


def test_taps_in_a_circle_are_refused() -> None:
    """f would wait for g, which waits for f: nothing would ever run."""

    def fork(name: str, first: str, second: str) -> Flow:
        tasks = (Task("a", 1.0, identity=first), Task("b", 1.0, identity=second))
        edges = tuple(Edge(*edge) for edge in (("in", "a"), ("a", "x"), ("in", "b"), ("b", "y")))
        return Flow(name, (Source("in", "h0", 0.01),), tasks, (Sink("x", "h1"), Sink("y", "h1")), edges)

    hosts = (Host("h0"), Host("h1"))
    both = Problem(RoutedNetwork(hosts, (Link("h0", "h1", 1.0),)), (fork("f", "p", "q"), fork("g", "p", "q")))
    placement = Placement.of({("f", "a"): "h0", ("g", "b"): "h0"}, (Tap("f", "b", "g", "b"), Tap("g", "a", "f", "a")))
    assert [Rule.REUSE, Rule.REUSE] == [each.rule for each in violations(both, placement)]


def test_several_flows_together_overbook_a_host() -> None:
    """Each fits alone; the validator must add them up, with the background."""
    together = Placement.of(dict.fromkeys(GOOD, "h1"))
    assert () == violations(problem(background=0.1), together)
    found = violations(problem(background=0.2), together)
    assert [(Rule.OVERBOOKED, "h1")] == [(each.rule, each.host) for each in found]
    assert "utilisation 1.000" in found[0].message
    for name in ("f", "g"):
        alone = Placement.of({key: "h1" if key[0] == name else "h2" for key in GOOD})
        assert () == violations(problem(background=0.2), alone)


def test_a_wire_that_carries_too_much_is_named() -> None:
    """Links are servers: a placement can drown one while every host is idle."""
    assert {Rule.WIRE} == {each.rule for each in violations(problem(bandwidth=15.0), Placement.of(GOOD))}


def test_hosts_with_no_way_between_them_are_refused() -> None:
    """After a link died the two halves can't share a flow."""
    cut = problem()
    cut = Problem(cut.network.without(links={("h0", "h1")}), cut.flows)
    assert {Rule.UNREACHABLE} == {each.rule for each in violations(cut, Placement.of(GOOD))}


def test_every_rule_is_broken_by_some_test_here() -> None:
    """A rule without a planted violation is a rule nobody checks."""
    seen: set[Rule] = {Rule.OVERBOOKED, Rule.WIRE, Rule.UNREACHABLE}
    marks = getattr(test_each_planted_violation_is_the_only_complaint, "pytestmark", [])
    for _, rule in marks[0].args[1]:
        seen.add(rule)
    assert set(Rule) == seen


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1])
def test_a_background_that_cannot_be_is_refused(bad: float) -> None:
    """A load that is not a number is at no cap, and every host would seem to have room."""
    sound = problem()
    loads = (IDLE, Load(rate_per_ms=1.0, rho=bad), IDLE, IDLE)
    with pytest.raises(ModelError, match="background 1 is"):
        Problem(sound.network, sound.flows, background=loads)
    wires = (Load(rho=bad),) * len(sound.network.wire_delays_ms)
    with pytest.raises(ModelError, match="wire_background 0 is"):
        Problem(sound.network, sound.flows, wire_background=wires)
