"""What `stigmergy explain` tells of a flow's latency."""

import pytest

from services.cli import explain
from services.cli.screen import console
from services.registry.decisions import decision
from services.registry.view import RegistryView
from tests.unit.registry_messages import committed_plan
from topics.messages import FlowRevision

TOLD = {"latency_ms": 38.0, "beyond_ms": 12.0, "model_ms": 22.0, "excess_samples": 150.0, "excess_spread_ms": 9.0}


@pytest.fixture
def view() -> RegistryView:
    made = RegistryView()
    made.take(FlowRevision(flow="f", revision=1, state="submitted", text="", delivery="at_least_once", changed_ms=0))
    made.take(committed_plan("f", {"f.1": "a"}))
    return made


def tell(view: RegistryView, now_ms: int, kind: str = "kept", **evidence: float) -> None:
    view.take(decision(kind, "what", "why", by="a", now_ms=now_ms, flow="f", evidence=evidence)[1])


def shown(view: RegistryView) -> str:
    with console.capture() as captured:
        explain._show(explain.explanation(view, "f", [], {}))
    return captured.get()


def test_the_model_s_word_and_what_was_learnt_are_told_apart(view: RegistryView) -> None:
    """Who tunes a flow must know how much of its latency is distance."""
    tell(view, 1, **TOLD)
    values = explain.explanation(view, "f", [], {})
    assert (38.0, 22.0, 150, 9.0, 26.0) == (
        values["predicted_latency_ms"],
        values["predicted_by_model_ms"],
        values["learnt_from_samples"],
        values["learnt_spread_ms"],
        values["predicted_at_last_segment_ms"],
    )
    latency = "38.0 ms to the sinks (the model alone: 22.0 ms; +16.0 ms as measured from 150 samples, "
    assert f"{latency}half of them within 9.0 ms)" in shown(view)


def test_what_was_learnt_elsewhere_and_what_is_not_known_yet_is_said(view: RegistryView) -> None:
    """A guess is not shown as a measurement."""
    assert "latency" not in shown(view)
    tell(view, 1, "planned", **TOLD | {"latency_ms": 22.0, "excess_samples": 0.0})
    assert "by the model alone: nothing was measured there yet" in shown(view)
    tell(view, 2, "planned", **TOLD | {"excess_samples": 0.0})
    assert "+16.0 ms as learnt where it ran before)" in shown(view)


def test_a_proposal_tells_of_where_the_flow_runs(view: RegistryView) -> None:
    """What it would take elsewhere is for `stigmergy plan` to show."""
    tell(view, 1, **TOLD)
    tell(view, 2, "proposed", latency_ms=5.0, **{f"now_{name}": 2 * value for name, value in TOLD.items()})
    assert 76.0 == explain.explanation(view, "f", [], {})["predicted_latency_ms"]


def test_a_leader_in_debt_is_told_with_when_that_ends(view: RegistryView) -> None:
    """A flow stood on a full host for minutes, and nothing told why nobody looked for a better place."""
    tell(view, 1_000, **TOLD)
    assert "paid for" not in shown(view)
    tell(view, 2_000, debt_s=190.0, **TOLD)
    tell(view, 3_000, "moved")
    assert 192_000 == explain.explanation(view, "f", [], {})["ants_owed_until_ms"]
    assert "its ants cost more than its data have paid for: without need none leave before " in shown(view)
    tell(view, 4_000, **TOLD)
    assert explain.explanation(view, "f", [], {})["ants_owed_until_ms"] is None
