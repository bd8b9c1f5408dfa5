"""Where a flow goes by the simple rule, and what is written for that."""

from collections.abc import Callable

import msgspec
import pytest

from services.registry.changes import assigned, flow_of, let_go, submitted, withdrawn
from services.registry.errors import RegistryError
from services.registry.spread import spread
from services.registry.view import RegistryView
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import FlowRevision, Placement


def test_a_source_is_read_at_its_host_and_the_rest_goes_to_the_least_loaded(flow_text: str) -> None:
    """`at` is where the records are made; reading them there saves the way."""
    graph = parse_graph(flow_text)
    first, second = (segment.id for segment in graph.segments)
    placed = spread(graph, {first: 2, second: 3}, ["edge-2", "edge-1"])
    assert {(first, 0): "edge-1", (first, 1): "edge-1"} == {slot: at for slot, at in placed.items() if slot[0] == first}
    assert ["edge-2", "edge-2", "edge-1"] == [placed[second, partition] for partition in range(3)]


def test_without_its_host_a_source_is_spread_as_the_rest(flow_text: str) -> None:
    """A flow must run though the host that it asks for is not there."""
    graph = parse_graph(flow_text)
    first, second = (segment.id for segment in graph.segments)
    placed = spread(graph, {first: 2, second: 1}, ["x", "y"])
    assert ["x", "y", "x"] == [placed[first, 0], placed[first, 1], placed[second, 0]]


def test_what_is_so_already_is_not_written_again(flow_text: str, tell: Callable) -> None:
    """A second `run` of the same file must not make every partition recover."""
    graph, view = parse_graph(flow_text), RegistryView()
    placed = {(segment.id, 0): "a" for segment in graph.segments}
    first = submitted(view, graph, flow_text, placed, now_ms=5)
    assert [FlowRevision, Placement, Placement] == [type(message) for _, message in first]
    for _, message in first:
        tell(view, message)
    assert [] == submitted(view, graph, flow_text, placed, now_ms=6)


def test_the_same_file_again_places_what_a_topic_has_got_since(flow_text: str, tell: Callable) -> None:
    """All that runs hears of it and goes on with its epoch; where no placement instance is, nobody else does it."""
    graph, view = parse_graph(flow_text), RegistryView()
    first, second = (segment.id for segment in graph.segments)
    placed = {(first, 0): "a", (second, 0): "a"}
    for _, message in submitted(view, graph, flow_text, placed, topics={"orders": 1}, now_ms=5):
        tell(view, message)
    again = submitted(view, graph, flow_text, {**placed, (first, 1): "a"}, topics={"orders": 2}, now_ms=6)
    written = {(m.segment, m.partition): (m.epoch, m.source_partitions) for _, m in again if isinstance(m, Placement)}
    assert dict.fromkeys([(first, 0), (first, 1), (second, 0)], (1, {"orders": 2})) == written
    assert len(written) == len(again), "and it is no new revision"


def test_a_changed_flow_gets_a_revision_and_its_old_segments_an_end(flow_text: str, tell: Callable) -> None:
    """A segment that computes something else is another one; the one before must stop."""
    graph, view = parse_graph(flow_text), RegistryView()
    old = {(segment.id, 0): "a" for segment in graph.segments}
    for _, message in submitted(view, graph, flow_text, old, now_ms=5):
        tell(view, message)
    changed_text = flow_text.replace("size > 2", "size > 3")
    changed = parse_graph(changed_text)
    new = {(segment.id, 0): "a" for segment in changed.segments}
    written = [message for _, message in submitted(view, changed, changed_text, new, now_ms=6)]
    assert 2 == next(message.revision for message in written if isinstance(message, FlowRevision))
    placements = {(m.segment, m.partition): m for m in written if isinstance(m, Placement)}
    gone = set(old) - set(new)
    assert gone
    assert dict.fromkeys(gone, (None, 2)) == {slot: (placements[slot].host, placements[slot].epoch) for slot in gone}
    assert all(placements[slot].revision == 2 for slot in new)


def test_withdrawing_ends_the_flow_and_all_its_placements(flow: Callable, placement: Callable, tell: Callable) -> None:
    """The epoch goes on, so that a later run fences whoever has not heard of it."""
    view = RegistryView()
    for message in (
        flow(),
        placement(epoch=4),
        placement(partition=1, host=None),
        placement(flow="other", segment="o.1"),
    ):
        tell(view, message)
    ended, freed = (message for _, message in withdrawn(view, "shop", now_ms=9))
    assert ("withdrawn", 2) == (ended.state, ended.revision)
    assert ("shop.1", 0, None, 5) == (freed.segment, freed.partition, freed.host, freed.epoch)
    tell(view, ended)
    with pytest.raises(RegistryError, match="withdrawn already"):
        withdrawn(view, "shop", now_ms=10)


def test_an_assignment_has_the_next_epoch(placement: Callable, tell: Callable) -> None:
    """The epoch is what the former owner stops by."""
    view = RegistryView()
    tell(view, placement(epoch=7))
    moved = assigned(view, ("shop.1", 0), "b", now_ms=3)
    assert ("b", 8, 3) == (moved.host, moved.epoch, moved.placed_ms)


def test_a_former_owner_that_lives_is_to_drain(placement: Callable, tell: Callable) -> None:
    """Fenced in the middle of a batch, it would have that done again; one that is gone nobody waits for."""
    view, slot = RegistryView(), ("shop.1", 0)
    tell(view, placement(host="a"))
    assert "a" == assigned(view, slot, "b", now_ms=3, living={"a", "b"}).origin
    assert assigned(view, slot, "b", now_ms=3, living={"b"}).origin is None
    assert assigned(view, slot, "a", now_ms=3, living={"a", "b"}).origin is None  # it drains itself


def test_when_it_has_drained_nobody_waits_for_it_any_more(placement: Callable, tell: Callable) -> None:
    """At each restart the new owner would; but what somebody has written meanwhile stands."""
    view, slot = RegistryView(), ("shop.1", 0)
    tell(view, placement(host="a"))
    moved = assigned(view, slot, "b", now_ms=3, living={"a"})
    tell(view, moved)
    assert [(catalogue.PLACEMENTS, msgspec.structs.replace(moved, origin=None))] == let_go(view, [moved])
    tell(view, assigned(view, slot, "c", now_ms=4, living={"b"}))
    assert [] == let_go(view, [moved])


def test_a_standby_that_takes_over_is_none_any_more(placement: Callable, tell: Callable) -> None:
    """A host need not follow itself; the other standbys go on following."""
    view = RegistryView()
    tell(view, placement(standbys=("b", "c")))
    assert ("c",) == assigned(view, ("shop.1", 0), "b", now_ms=3).standbys
    assert ("d",) == assigned(view, ("shop.1", 0), "b", now_ms=3, standbys=["d", "b", "d"]).standbys


def test_an_unknown_flow_is_answered_with_the_known_ones(flow: Callable, tell: Callable) -> None:
    """The next thing to type stands in the error."""
    view = RegistryView()
    tell(view, flow())
    with pytest.raises(RegistryError) as error:
        flow_of(view, "shopp")
    assert "the flows are: shop; did you mean shop?" in str(error.value)
