"""What a host sees come, taken into the model of the flow."""

import pytest

from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import FlowModel, model_flow
from services.host.cell.seen_rates import FASTER_MAX, HEEDED_MS, Seen, priced
from tests.unit.cell.test_flow_model import REGIONS, counting, row

GRAPH = counting()
FIRST, SECOND = (segment.id for segment in GRAPH.segments)


def measured(passed: int = 50) -> FlowModel:
    """100 a second come, so many of which the filter lets pass."""
    rows = [row(GRAPH, "kept", second, arrivals=100, outputs=passed) for second in range(10)]
    rows += [row(GRAPH, "counts", second, arrivals=passed, outputs=passed) for second in range(10)]
    return model_flow(GRAPH, REGIONS, measure_flow(rows, {}, span_s=10))


@pytest.mark.parametrize(("segment", "per_s"), [(FIRST, 300.0), (SECOND, 150.0)])
def test_the_sources_are_as_fast_as_what_enters_a_segment_says(segment: str, per_s: float) -> None:
    """Half of what comes enters the second one."""
    model = priced(measured(), Seen(segment, per_s, 0.0))
    (source,) = model.flow.sources
    assert (pytest.approx(0.3), "measured") == (source.rate_per_ms, model.origins["s", "rate_per_ms"])
    assert measured().flow.tasks == model.flow.tasks


def test_less_than_is_known_or_a_segment_of_others_changes_nothing() -> None:
    known = measured()
    for seen in (Seen(FIRST, 90.0, 0.0), Seen(SECOND, 45.0, 0.0), Seen("f.gone", 900.0, 0.0)):
        assert known == priced(known, seen)


def test_what_a_filter_hardly_ever_lets_pass_is_no_measure_of_the_sources() -> None:
    """They are not a million times as fast; but of those themselves what is seen is believed."""
    known = measured(passed=0)
    (source,) = priced(known, Seen(SECOND, 900.0, 0.0)).flow.sources
    assert FASTER_MAX == pytest.approx(source.rate_per_ms / known.flow.sources[0].rate_per_ms)
    (source,) = priced(known, Seen(FIRST, 5_000.0, 0.0)).flow.sources
    assert 5.0 == pytest.approx(source.rate_per_ms)


def test_it_counts_for_as_long_as_means_reach_back() -> None:
    seen = Seen(FIRST, 300.0, 1e6)
    assert seen.is_fresh(1e6 + 0.99 * HEEDED_MS)
    assert not seen.is_fresh(1e6 + HEEDED_MS)
