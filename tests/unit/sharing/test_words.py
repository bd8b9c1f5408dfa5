"""What people read of flows that share."""

import msgspec

from services.cli.explain import explanation
from services.cli.flows import flow_rows
from services.cli.plan import plan_values
from services.registry.sharing_words import lingers_for, shared_lines
from services.registry.view import RegistryView
from tests.unit.sharing.talks import run, segment, submit, talk, tap

SERVER, TAPPER = talk("f"), talk("g")


def both() -> RegistryView:
    view = RegistryView()
    run(view, SERVER)
    run(view, TAPPER, tap(TAPPER, SERVER), server=SERVER)
    shared = view.placements[segment(SERVER, "counts"), 0]
    view.take(msgspec.structs.replace(shared, serves=("g",)))
    return view


def test_both_sides_are_told_what_is_shared_with_whom() -> None:
    """Who looks at one flow must not have to look at all of them."""
    view = both()
    assert ["reads what counts of f give"] == shared_lines(view, "g")
    assert ["runs counts for g, too"] == shared_lines(view, "f")
    assert (("g",), ()) == (lingers_for(view, "f"), lingers_for(view, "g"))


def test_a_withdrawn_flow_that_goes_on_for_others_says_so() -> None:
    """It is neither gone nor forgotten."""
    view = both()
    submit(view, SERVER, revision=2, state="withdrawn")
    for operator in ("kept", "totals"):
        each = view.placements[segment(SERVER, operator), 0]
        view.take(msgspec.structs.replace(each, host=None, epoch=2))
    row = next(row for row in flow_rows(view, ["a"], {}) if row["flow"] == "f")
    assert ("lingering", ["runs counts for g, too"]) == (row["state"], row["shared"])
    (told,) = explanation(view, "f", [], {})["segments"]
    assert "the flow is withdrawn, but others read this" == told["why"]


def test_a_plan_and_its_explanation_name_who_serves() -> None:
    """A person who approves a plan approves that, too."""
    view = both()
    values = plan_values(view, view.plans["g"])
    assert [{"segment": segment(TAPPER, "counts"), "served_by": "f"}] == values["taps"]
    assert ["reads what counts of f give"] == explanation(view, "g", [], {})["shared"]
