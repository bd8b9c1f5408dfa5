"""What a host takes from the registry for itself."""

from collections.abc import Callable

from services.host.wanted import Terms, wanted_of
from services.registry.view import RegistryView
from topics.messages import SegmentTap, TappedEdge


def test_a_host_wants_its_own_slots_and_no_others(flow: Callable, placement: Callable, tell: Callable) -> None:
    """Two hosts that both believed to own a partition would fence each other for ever."""
    view = RegistryView()
    for message in (
        flow(),
        placement(partition=0, host="a"),
        placement(partition=1, host="b"),
        placement(partition=2, host=None),
        placement(partition=3, host="a", epoch=5),
    ):
        tell(view, message)
    wanted = wanted_of("a", view)
    assert ["shop.1"] == list(wanted)
    assert {0: 1, 3: 5} == {partition: each.epoch for partition, each in wanted["shop.1"].placements.items()}
    assert {} == wanted_of("c", view)


def test_a_standby_follows_what_another_host_runs(flow: Callable, placement: Callable, tell: Callable) -> None:
    """It is told by the same message; nobody follows what nobody runs, or what it runs itself."""
    view = RegistryView()
    for message in (
        flow(),
        placement(partition=0, host="b", standbys=("a",)),
        placement(partition=1, host="a", standbys=("a",)),
        placement(partition=2, host=None, standbys=("a",)),
    ):
        tell(view, message)
    wanted = wanted_of("a", view)["shop.1"]
    assert ([1], [0], False) == (list(wanted.placements), list(wanted.standbys), wanted.is_nothing)
    assert flow().text == wanted.text


def test_a_withdrawn_flow_is_wanted_nowhere(flow: Callable, placement: Callable, tell: Callable) -> None:
    """The flow's end counts from the moment that it is told, whatever its placements still say."""
    view = RegistryView()
    tell(view, placement())
    tell(view, flow(revision=2, state="withdrawn"))
    assert {} == wanted_of("a", view)


def test_a_flow_older_than_its_placement_has_no_text_yet(flow: Callable, placement: Callable, tell: Callable) -> None:
    """Flows and placements come by two topics: running the old text under the new placement would be wrong."""
    view = RegistryView()
    tell(view, placement(revision=2))
    assert wanted_of("a", view)["shop.1"].text is None
    tell(view, flow(revision=1, text="old"))
    assert wanted_of("a", view)["shop.1"].text is None
    tell(view, flow(revision=2, text="new"))
    assert "new" == wanted_of("a", view)["shop.1"].text


def test_what_others_read_of_a_withdrawn_flow_is_still_wanted(
    flow: Callable, placement: Callable, tell: Callable
) -> None:
    """Its host need not wait for the placement service to say so."""
    view = RegistryView()
    tell(view, placement(partition=0, serves=("other",), promise="p"))
    tell(view, placement(partition=1))
    tell(view, flow(revision=2, state="withdrawn"))
    wanted = wanted_of("a", view)["shop.1"]
    assert ([0], flow().text, Terms((), "p")) == (list(wanted.placements), wanted.text, wanted.terms)


def test_the_terms_are_those_of_the_placements(flow: Callable, placement: Callable, tell: Callable) -> None:
    """What a segment reads, and what it has promised, a host learns with what it is to run."""
    view = RegistryView()
    edge = TappedEdge("own", "theirs", SegmentTap("shop.0", "other", "other.0"))
    tell(view, flow())
    tell(view, placement(partition=0, reads=(edge,)))
    tell(view, placement(partition=1, host="b", standbys=("a",), reads=(edge,)))
    assert Terms((edge,), None) == wanted_of("a", view)["shop.1"].terms


def test_counts_come_with_the_placements_and_the_newest_are_the_largest(
    flow: Callable, placement: Callable, tell: Callable
) -> None:
    """A host may see what was written for one partition before it sees the rest."""
    view = RegistryView()
    tell(view, flow())
    tell(view, placement(partition=0, source_partitions={"orders": 8, "refunds": 2}))
    tell(view, placement(partition=1, source_partitions={"orders": 4, "refunds": 2}))
    assert {"orders": 8, "refunds": 2} == wanted_of("a", view)["shop.1"].terms.source_partitions
