"""Which segments of a flow are tapped, and what it runs itself."""

from services.sharing.equality import tapped_edges
from services.sharing.taps import choose, edges_read, left_to_run, sound, still_tapped
from tests.unit.sharing.talks import segment, talk, tap
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph
from topics.messages import SegmentTap


def test_the_tapped_segment_and_all_that_only_feeds_it_do_not_run() -> None:
    """That is what sharing saves."""
    graph = talk("g")
    assert {segment(graph, "totals")} == left_to_run(graph, [segment(graph, "counts")])
    assert {each.id for each in graph.segments} == left_to_run(graph, [])


def test_the_last_equal_segment_is_tapped() -> None:
    """What comes before it is equal, too, but nobody would read it."""
    graph, server = talk("g"), talk("f")
    assert (tap(graph, server),) == choose(graph, [server])


def test_of_several_flows_the_first_serves() -> None:
    """All who ask in the same moment come to the same answer."""
    graph, first, second = talk("g"), talk("f"), talk("e")
    assert (tap(graph, first),) == choose(graph, [first, second])


def test_what_differs_at_the_end_is_shared_as_far_as_it_is_equal() -> None:
    """Counts go to other partitions, so that only the filter is left to share."""
    graph, server = talk("g", then="shop"), talk("f")
    assert (tap(graph, server, "kept"),) == choose(graph, [server])


def test_nothing_in_common_is_nothing_to_tap() -> None:
    """The flow runs by itself."""
    assert () == choose(talk("g"), [talk("f", where="size > 7")])


def test_a_segment_is_not_tapped_while_something_before_it_has_to_run() -> None:
    """It would write to an edge that nobody reads, for ever."""
    graph = talk("g", raw=True)
    assert frozenset() == sound(graph, [segment(graph, "counts")])


def test_a_segment_is_not_tapped_while_the_rest_of_the_flow_reads_its_source() -> None:
    """Of those who read a source one tells which records are late or unreadable: it would be the one that is gone."""
    graph = two_ways("g")
    first, second = segment(graph, "by-user"), segment(graph, "by-team")
    assert first != second
    assert frozenset() == sound(graph, _readers(graph)[:1])
    assert 2 == len(sound(graph, _readers(graph)))


def two_ways(name: str) -> FlowGraph:
    """A source that is counted by two keys: the two segments that read it have nothing to do with each other."""
    flow = Flow(name)
    clicks = flow.source("clicks", topic="clicks", key="id", partitions=4)
    for key in ("user", "team"):
        kept = clicks.filter("size > 0", name=f"kept-{key}")
        kept.aggregate(by=[key], emit={"n": "count()"}, name=f"by-{key}").sink(f"{key}s", topic=f"{name}-{key}")
    return flow.graph()


def _readers(graph: FlowGraph) -> list[str]:
    return [segment(graph, f"kept-{key}") for key in ("user", "team")]


def test_one_segment_never_serves_two_of_the_same_flow() -> None:
    """They may have one reader, which could not tell them apart."""
    graph = two_ways("g")
    server = talk("f", by="user")
    assert len(choose(graph, [server])) <= 1


def test_what_was_tapped_stays_so_while_the_flow_has_it() -> None:
    """A changed end changes nothing; a changed segment has to run by itself."""
    graph = talk("g")
    taps = (tap(graph, talk("f")),)
    assert taps == still_tapped(talk("g", then="shop"), taps)
    assert () == still_tapped(talk("g", by="city"), taps)


def test_each_segment_reads_the_edges_that_lead_to_it() -> None:
    """And no other one: a host needs to know no more."""
    graph, server = talk("g"), talk("f")
    edges = tapped_edges(graph, server, tap(graph, server))
    assert edges == edges_read(graph, segment(graph, "totals"), edges)
    assert () == edges_read(graph, segment(graph, "counts"), edges)


def test_a_tap_names_both_ends() -> None:
    """Segment ids begin with the name of their flow."""
    graph, server = talk("g"), talk("f")
    assert SegmentTap(segment(graph, "counts"), "f", segment(server, "counts")) == choose(graph, [server])[0]
