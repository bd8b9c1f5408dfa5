"""What is left to place of a flow of which others run a part."""

from placement.model import Edge, Flow, Sink, Source, Task
from placement.served import served_flow


def flow() -> Flow:
    """A chain of three tasks with a branch behind the second, and a second source for the last."""
    return Flow(
        "f",
        (Source("s", "a", 2.0), Source("t", "b", 1.0)),
        (Task("x", 1.0), Task("y", 1.0, batch=0.5, output_bytes=7.0), Task("z", 1.0), Task("w", 1.0)),
        (Sink("out", "c"), Sink("more", "c")),
        (
            Edge("s", "x"),
            Edge("x", "y"),
            Edge("y", "z"),
            Edge("y", "w", share=0.5),
            Edge("t", "z"),
            Edge("z", "out"),
            Edge("w", "more"),
        ),
    )


def test_what_is_tapped_comes_from_where_it_runs() -> None:
    """At its rate, as from a source; it adds no load, and neither does what only fed it."""
    left = served_flow(flow(), {"y": "h"})
    assert ["z", "w"] == [task.name for task in left.tasks]
    assert [Source("t", "b", 1.0), Source("y", "h", 1.0, message_bytes=7.0)] == list(left.sources)
    assert Edge("y", "w", share=0.5) in left.edges
    assert [1.0, 0.5, 1.0] == [edge.rate_per_ms for edge in left.graph.edges if edge.from_source]


def test_a_flow_that_taps_nothing_stays_as_it_is() -> None:
    """The very same value."""
    whole = flow()
    assert served_flow(whole, {}) is whole


def test_the_rate_is_that_of_what_is_read() -> None:
    """The largest edge of the tapped task may lead to a task that does not run."""
    left = served_flow(flow(), {"y": "h", "z": "k"})
    assert ["w"] == [task.name for task in left.tasks]
    assert {"y": 0.5, "z": 2.0} == {source.name: source.rate_per_ms for source in left.sources}
