"""What the bench of moves makes of arrivals and pauses."""

import pytest

from services.lab.moves.measures import large_rows, rows
from services.lab.moves.sides import GROUP_LOOP, OURS, Pause
from services.lab.moves.stream import Arrivals, Gap


def test_a_gap_is_the_longest_time_without_a_result_since_then() -> None:
    """Of the partition that moved, and of the one that did not; what was before the move does not count."""
    arrivals = Arrivals(([0.0, 5.0, 5.01, 5.11, 5.12], [0.0, 5.0, 5.02, 5.03, 5.05]))
    gap = arrivals.gap_of(0, since_s=4.0)
    assert (100, 20) == (round(gap.longest_ms), round(gap.other_ms))
    gap = arrivals.gap_of(1, since_s=4.0)
    assert (20, 100) == (round(gap.longest_ms), round(gap.other_ms))
    assert 100 == round(arrivals.gap(since_s=4.0).longest_ms)


def test_rows_tell_pauses_predictions_and_how_the_others_compare() -> None:
    """A prediction counts as close within 30 % of what the hosts told."""
    mine = [Pause(Gap(60.0, 5.0), 50.0, 55.0), Pause(Gap(100.0, 6.0), 50.0, 95.0), Pause(Gap(80.0, 7.0), None, None)]
    found = {row.measure: row for row in rows({OURS: mine, GROUP_LOOP: [Pause(Gap(800.0, 800.0))]})}
    assert 80.0 == found[f"pause of a moved partition, median: {OURS}"].value
    assert 0.5 == found["predictions within 30 % of the pause as told"].value
    assert 6.0 == found[f"longest gap of the other partition meanwhile: {OURS}"].value
    compared = found[f"pause: {OURS} over {GROUP_LOOP}"]
    assert (0.1, GROUP_LOOP) == (compared.value, compared.baseline)


def test_a_prediction_is_also_rated_by_what_a_reader_of_the_sink_sees() -> None:
    """Hosts do not tell of the way to the reader, nor of the first results that wait for their commit."""
    mine = [Pause(Gap(100.0, 5.0), 50.0, 55.0), Pause(Gap(60.0, 5.0), 50.0, 55.0)]
    found = {row.measure: row.value for row in rows({OURS: mine})}
    assert 1.0 == found["predictions within 30 % of the pause as told"]
    assert 0.5 == found["predictions within 30 % of the gap seen at the sink"]


def test_another_flow_s_gaps_stand_beside_its_own_p99() -> None:
    """A move must not be seen by others: what they had anyway is what it is compared with."""
    mine = [Pause(Gap(60.0, 5.0), beside=Gap(9.0, 4.0), beside_calm=Gap(calm_ms, 1.0)) for calm_ms in (8.0, 10.0)]
    found = {row.measure: row.value for row in rows({OURS: mine})}
    assert 9.0 == found[f"longest gap of another flow meanwhile: {OURS}"]
    assert pytest.approx(9.98) == found[f"longest gap of another flow before, p99: {OURS}"]


def test_a_large_state_is_compared_with_the_small_one_of_the_same_run() -> None:
    """As a ratio with a spread."""
    small = [Pause(Gap(gap_ms, 0.0)) for gap_ms in (40.0, 50.0, 90.0)]
    large = [Pause(Gap(gap_ms, 0.0)) for gap_ms in (50.0, 75.0, 150.0)]
    found = {row.measure: row for row in large_rows(small, large, keys=100_000, keys_large=10_000_000)}
    ratio = found["pause: 10,000,000 keys over 100,000"]
    assert (1.5, (1.0, 3.0), "100,000 keys") == (ratio.value, ratio.spread, ratio.baseline)
    assert 75.0 == found[f"pause of a moved partition, 10,000,000 keys, median: {OURS}"].value
