"""Reference counts by the registry: who reads whom, who may serve, and what revisions may change."""

import msgspec
import pytest

from services.registry.changes import submitted, withdrawn
from services.registry.errors import RegistryError
from services.registry.sharing_counts import fixed_taps, may_serve, readers
from services.registry.sharing_revisions import check_serving, taps_of
from services.registry.view import RegistryView
from services.sharing.equality import promise, segment_of
from tests.unit.sharing.talks import run, segment, submit, talk, tap, text_of
from topics.messages import FlowRevision, Placement

SERVER, TAPPER = talk("f"), talk("g")
SHARED = segment(SERVER, "counts")


def both() -> RegistryView:
    """g reads what f counts."""
    view = RegistryView()
    run(view, SERVER)
    run(view, TAPPER, tap(TAPPER, SERVER), server=SERVER)
    for operator in ("kept", "counts"):
        each = view.placements[segment(SERVER, operator), 0]
        found = segment_of(SERVER, each.segment)
        assert found is not None
        view.take(msgspec.structs.replace(each, serves=("g",), promise=promise(SERVER, found)))
    return view


def clear(view: RegistryView, flow: str) -> None:
    for each in list(view.placements.values()):
        if each.flow == flow:
            view.take(msgspec.structs.replace(each, host=None, epoch=each.epoch + 1))


def test_who_is_placed_and_wanted_counts_as_a_reader() -> None:
    """One that is withdrawn does not, nor one that runs nowhere."""
    view = both()
    assert {SHARED: ("g",)} == readers(view)
    submit(view, TAPPER, revision=2, state="withdrawn")
    assert {} == readers(view)
    submit(view, TAPPER, revision=3)
    clear(view, "g")
    assert {} == readers(view)


def test_what_a_flow_taps_outlasts_its_end() -> None:
    """Its offsets are those of the other flow's topic: begun by itself it would read everything again."""
    view = both()
    assert (None, ()) == (fixed_taps(view, "h"), fixed_taps(view, "f"))
    clear(view, "g")
    assert (tap(TAPPER, SERVER),) == fixed_taps(view, "g")


def test_a_flow_that_runs_as_it_was_first_submitted_may_serve() -> None:
    """Not one without a plan, one of which something does not run, nor one that is ending."""
    view = both()
    assert may_serve(view, "f")
    assert not may_serve(view, "h")
    submit(view, SERVER, revision=2)
    assert not may_serve(view, "f"), "its edges hold what the revision before it wrote"
    view = both()
    submit(view, SERVER, revision=2, state="withdrawn")
    assert not may_serve(view, "f")
    view = both()
    del view.plans["f"]
    assert not may_serve(view, "f")
    view = both()
    clear(view, "f")
    assert not may_serve(view, "f")


def test_who_taps_does_not_serve() -> None:
    """So a count is never the sum of others' counts."""
    assert not may_serve(both(), "g")


def test_withdrawing_a_flow_leaves_what_others_read() -> None:
    """Its other segments, and with them its sinks, stop at once."""
    entries = withdrawn(both(), "f", now_ms=9)
    (flow,) = [each for _, each in entries if isinstance(each, FlowRevision)]
    ended = [each.segment for _, each in entries if isinstance(each, Placement)]
    assert ("withdrawn", [segment(SERVER, "totals")]) == (flow.state, ended)


def test_a_served_flow_may_change_what_nobody_else_reads() -> None:
    """Totals are its own affair, unless they want the counts in other partitions."""
    view = both()
    entries = submitted(view, talk("f", emit="max(n)"), text_of("f", emit="max(n)"), {}, now_ms=9)
    assert [2] == [each.revision for _, each in entries if isinstance(each, FlowRevision)]
    with pytest.raises(RegistryError, match="g read what counts of f give"):
        submitted(view, talk("f", then="shop"), text_of("f", then="shop"), {}, now_ms=9)


def test_a_revision_without_the_shared_segment_is_refused_by_name() -> None:
    """And the words tell what to do."""
    with pytest.raises(RegistryError, match="first withdraw g"):
        check_serving(both(), talk("f", where="size > 7"))


def test_a_served_flow_gets_no_sink_where_others_read() -> None:
    """It could not stop when the flow is withdrawn."""
    with pytest.raises(RegistryError, match="g read what kept of f give"):
        check_serving(both(), talk("f", raw=True))


def test_a_served_flow_that_was_withdrawn_may_be_submitted_again() -> None:
    """It just goes on."""
    view = both()
    submit(view, SERVER, text_of("f"), revision=2, state="withdrawn")
    entries = submitted(view, SERVER, text_of("f"), {}, now_ms=9)
    assert [(3, "submitted")] == [(each.revision, each.state) for _, each in entries if isinstance(each, FlowRevision)]


def test_a_tapper_may_change_what_it_does_with_what_it_reads() -> None:
    """As long as it reads the same."""
    assert (tap(TAPPER, SERVER),) == taps_of(both(), talk("g", emit="max(n)"))


def test_a_tapper_whose_server_is_gone_can_not_begin_by_itself() -> None:
    """It would do everything again."""
    view = both()
    clear(view, "f")
    with pytest.raises(RegistryError, match="first submit f again"):
        taps_of(view, TAPPER)


def test_a_tapper_that_asks_for_other_partitions_is_refused() -> None:
    """The serving flow has no such edge."""
    with pytest.raises(RegistryError, match="submit it under another name"):
        taps_of(both(), talk("g", then="shop"))


def test_a_segment_that_read_another_flow_must_go_on_doing_so() -> None:
    """Here its flow would read the source itself beside it."""
    with pytest.raises(RegistryError, match="read a segment of f so far"):
        taps_of(both(), talk("g", raw=True))


def test_a_tapper_is_not_placed_by_hand() -> None:
    """That rule knows nothing of taps."""
    with pytest.raises(RegistryError, match="reads segments of other flows"):
        submitted(both(), TAPPER, text_of("g"), {(SHARED, 0): "a"}, now_ms=9)


def test_what_is_placed_by_hand_goes_on_serving() -> None:
    """Whoever placed it, others read it."""
    entries = submitted(both(), SERVER, text_of("f"), {(SHARED, 0): "b"}, now_ms=9)
    (entry,) = [each for _, each in entries if isinstance(each, Placement) and each.segment == SHARED]
    assert ("b", ("g",)) == (entry.host, entry.serves)
