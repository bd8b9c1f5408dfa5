"""Flows as hot spots are foreseen from them: what waits where, and what it takes to work that off."""

from collections.abc import Callable, Mapping

import pytest

from placement.hotspots import Outlook
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_outlook import Measured, outlook_of
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows
from services.modelling.seats import Seats

Batch = Callable[..., Rows]
PARSED, COUNTED = ("edge-1", "talk", "talk.aa", "parsed"), ("edge-1", "talk", "talk.aa", "counted")
LAST = 1_019


def told(rate: float, service_us: float, **more: float) -> dict[str, float]:
    """One second."""
    served = {"served": rate, "service_us": rate * service_us, "service_us_sq": rate * service_us**2}
    return {"rows": 1.0, "arrivals": rate, "waited": rate, **served, **more}


def looked(
    batch: Batch,
    monkeypatch: pytest.MonkeyPatch,
    seconds: Callable[[int], Mapping[tuple[str, ...], dict[str, float]]],
    facts: FlowFacts,
) -> tuple[Outlook, Measured]:
    """What is known at the end of these twenty seconds."""
    modeller, seen = Modeller(FitParams(window_s=20, recent_s=5)), list[Seats]()
    modeller.know({"talk": facts})
    monkeypatch.setattr(modeller.hot_spots, "columns", lambda seats, *_: seen.append(seats) or [])
    for second in range(1_000, LAST + 1):
        cells = {seat: {second: sums} for seat, sums in seconds(second).items()}
        modeller.take(batch(second + 1.5, operator=cells))
    modeller.models()
    return outlook_of(seen[0], modeller.flows)


def test_what_a_record_takes_is_also_the_work_on_what_is_made_of_it(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flat_map makes ten of each: reckoned by those, a backlog seemed to be worked off in a tenth of the time."""
    backlog = {"lag": 100.0}
    outlook, _ = looked(
        batch,
        monkeypatch,
        lambda second: {PARSED: told(50.0, 1_000.0, **backlog), COUNTED: told(500.0, 400.0, **backlog)},
        FlowFacts(100.0, (("counted", "parsed"),)),
    )
    stops = outlook.stops
    assert [5.0] == pytest.approx(stops.service_ms.tolist()), "1 ms, and ten times 0.4"
    assert [500.0] == pytest.approx(stops.backlog_ms.tolist())
    assert [0.25] == pytest.approx((stops.rate_per_ms * stops.service_ms).tolist()), "the load is what it was"
