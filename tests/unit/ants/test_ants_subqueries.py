"""Cutting flows into chains (Ants 3.3, figure 1)."""

import pytest

from placement.model import Edge, Flow, Sink, Source, Task, chain
from placement.subqueries import End, subqueries


def flow(edges: list[tuple[str, str]], tasks: str, sources: dict[str, str], sinks: dict[str, str]) -> Flow:
    return Flow(
        "f",
        tuple(Source(name, host, 0.01) for name, host in sources.items()),
        tuple(Task(name, 1.0) for name in tasks),
        tuple(Sink(name, host) for name, host in sinks.items()),
        tuple(Edge(tail, head) for tail, head in edges),
    )


def names(f: Flow) -> list[str]:
    return ["".join(f.tasks[task].name for task in part.tasks) for part in subqueries(f.graph)]


FAN_IN = flow(
    [("p1", "a"), ("a", "j"), ("j", "k"), ("k", "c"), ("p2", "b"), ("b", "j")],
    "ajkb",
    {"p1": "h1", "p2": "h2"},
    {"c": "h3"},
)
FAN_OUT = flow(
    [("p", "a"), ("a", "s"), ("s", "b"), ("b", "c1"), ("s", "d"), ("d", "c2")],
    "asbd",
    {"p": "h1"},
    {"c1": "h2", "c2": "h3"},
)


def test_a_chain_is_one_subquery() -> None:
    """Nothing to cut."""
    simple = chain("f", Source("in", "h1", 0.01), (Task("a", 1.0), Task("b", 1.0)), Sink("out", "h2"))
    (only,) = subqueries(simple.graph)
    assert only.tasks == (0, 1)
    assert (End("h1"), End("h2")) == (only.start, only.end)


def test_fan_in_places_the_longest_chain_first_then_each_other_producer_to_its_join() -> None:
    """Ants figure 1b: the branch ends at the join task, wherever that was placed."""
    assert names(FAN_IN) == ["ajk", "b"]
    branch = subqueries(FAN_IN.graph)[1]
    assert branch.start == End("h2")
    assert branch.end.resolve({1: "join-host"}) == "join-host"


def test_fan_out_places_the_longest_chain_first_then_each_other_consumer() -> None:
    """Ants figure 1d: the branch starts where the split was placed."""
    assert names(FAN_OUT) == ["asb", "d"]
    branch = subqueries(FAN_OUT.graph)[1]
    assert branch.start == End(task=1)
    assert branch.end == End("h3")


def test_the_other_producer_pulls_at_the_join_with_half_the_paths() -> None:
    """Join hint: without it the longest chain is placed blindly, which costs 23 % at joins."""
    first = subqueries(FAN_IN.graph)[0]
    assert (0, 1) == (len(first.pulls[0]), len(first.pulls[1]))
    (pull,) = first.pulls[1]
    assert pull.end == End("h2")
    assert pull.path_share == pytest.approx(0.5)
    assert not pull.exact


def test_a_chain_before_a_join_carries_its_share_of_the_paths() -> None:
    """Half its own branch, the whole tail: the mean over paths."""
    assert pytest.approx((0.5, 0.5, 1.0, 1.0)) == subqueries(FAN_IN.graph)[0].shares


def test_a_producer_that_feeds_a_join_directly_is_priced_exactly() -> None:
    """There is no branch to place later, so the distance is a cost, not a preference."""
    direct = flow([("p1", "a"), ("a", "j"), ("j", "c"), ("p2", "j")], "aj", {"p1": "h1", "p2": "h2"}, {"c": "h3"})
    (pull,) = subqueries(direct.graph)[0].pulls[1]
    assert pull.exact


def test_every_task_is_in_exactly_one_chain() -> None:
    """Nested joins and splits too."""
    nested = flow(
        [
            ("p1", "a"), ("p2", "b"), ("p3", "c"), ("a", "j"), ("b", "j"), ("j", "k"), ("c", "k"), ("k", "s"),
            ("s", "x"), ("s", "y"), ("x", "c1"), ("y", "c2"),
        ],
        "abcjksxy",
        {"p1": "h1", "p2": "h2", "p3": "h3"},
        {"c1": "h4", "c2": "h5"},
    )  # fmt: skip
    assert sorted("abcjksxy") == sorted("".join(names(nested)))
