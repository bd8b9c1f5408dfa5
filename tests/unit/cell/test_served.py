"""The model of a flow of which others run a part."""

from services.host.cell.flow_model import model_flow
from services.host.cell.served import served_at, served_model
from services.registry.view import RegistryView
from tests.unit.sharing.talks import run, segment, talk, tap

SERVER, TAPPER = talk("f"), talk("g", latency_ms=100)
REGIONS = {"a": "r", "b": "r"}


def test_the_way_to_what_is_tapped_counts_for_the_flow() -> None:
    """Its records have travelled there before they come to it: the rest of the flow has that much less time."""
    whole = model_flow(TAPPER, REGIONS, hop_ms=4.0)
    left = served_model(whole, {segment(TAPPER, "counts"): "b"}, way_ms=lambda _from, _to: 10.0)
    assert whole.flow.latency_bound_ms - 10.0 == left.flow.latency_bound_ms
    assert (whole.hops.total_ms + 10.0, whole.held_ms + 10.0) == (left.hops.total_ms, left.held_ms)
    assert [segment(TAPPER, "totals")] == [task.name for task in left.flow.tasks]


def test_a_flow_that_taps_nothing_has_its_whole_model() -> None:
    """Nothing is taken from it."""
    whole = model_flow(TAPPER, REGIONS)
    assert whole is served_model(whole, {}, way_ms=lambda _from, _to: 10.0)


def test_what_is_tapped_is_where_a_live_host_runs_it() -> None:
    """While none does, because one was lost just now, it is somewhere: the next look sees it where it went."""
    view, taps = RegistryView(), [tap(TAPPER, SERVER)]
    run(view, SERVER)
    assert {taps[0].segment: "a"} == served_at(view, taps, live={"a", "b"}, otherwise="b")
    assert {taps[0].segment: "b"} == served_at(view, taps, live={"b"}, otherwise="b")
