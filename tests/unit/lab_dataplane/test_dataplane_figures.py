"""From what was seen to the figures that are published."""

from pathlib import Path

import pytest

from services.lab.dataplane import recovery, throughput
from services.lab.dataplane.ground import BenchError
from services.lab.dataplane.metering import BATCH, metering
from services.lab.dataplane.trial import Patience, Sample, Speed, speed


def test_the_warm_up_does_not_count() -> None:
    """A process is slow while it starts; a backlog is finite, so that would weigh more for the fast ones."""
    slow_start = [Sample(10.0, 100, 1.0, 5.0), Sample(11.0, 200, 2.0, 6.0), Sample(13.0, 8_200, 3.0, 6.5)]
    assert Speed(4_000, 125.0, 0.25) == speed(slow_start, Patience(warm_up_s=1.0), results=8_200, records=8_200)


def test_the_warm_up_also_lasts_for_a_share_of_the_results() -> None:
    """On a busy machine a JVM has compiled little after some seconds; it is measured when it has done half."""
    samples = [
        Sample(0.0, 0, 0.0),
        Sample(12.0, 100, 9.0),
        Sample(20.0, 500, 15.0),
        Sample(21.0, 1_000, 16.0),
    ]
    patience = Patience(warm_up_s=12.0, warm_up_share=0.5)
    assert 500 == speed(samples, patience, results=1_000, records=1_000).records_per_s


def test_results_are_counted_as_the_records_that_gave_them() -> None:
    """A filter that passes four of five has read five."""
    samples = [Sample(0.0, 0, 0.0), Sample(2.0, 800, 1.0)]
    assert 500 == speed(samples, Patience(warm_up_s=0.0), results=800, records=1_000).records_per_s


def test_a_run_that_is_over_before_it_is_warm_is_taken_whole() -> None:
    """A short backlog gives a rough figure, not none."""
    samples = [Sample(0.0, 0, 0.0), Sample(0.2, 100, 0.1)]
    assert 500 == speed(samples, Patience(warm_up_s=5.0), results=100, records=100).records_per_s


def test_results_that_come_all_at_once_are_no_measurement() -> None:
    """One moment has no rate."""
    with pytest.raises(BenchError, match="take more records"):
        speed([Sample(0.0, 100, 1.0)], Patience(warm_up_s=0.0), results=100, records=100)


def test_a_ratio_is_made_of_repetitions_next_to_each_other() -> None:
    """A slow minute of the machine hits both sides; the ratio of medians would mix minutes."""
    speeds = {
        ("workload", "ours"): [Speed(100, 2), Speed(400, 2), Speed(300, 2)],
        ("workload", "theirs"): [Speed(50, 4), Speed(100, 4), Speed(200, 4)],
    }
    faster, dearer = throughput.ratios(speeds, "ours", "theirs")
    assert ("workload: ours over theirs", 2.0, (1.5, 4.0), "theirs") == (
        faster.measure,
        faster.value,
        faster.spread,
        faster.baseline,
    )
    assert 0.5 == dearer.value


def test_a_side_that_failed_has_no_rows() -> None:
    """It is left out, and told; the others' figures stay."""
    assert [] == throughput.ratios({("workload", "ours"): [Speed(1, 1)]}, "ours", "theirs")


def _log(path: Path, restored: int) -> Path:
    path.write_text(
        "a line that is not JSON\n"
        '{"event": "task recovers", "timestamp": "2026-01-01T00:00:01.500000Z"}\n'
        f'{{"event": "task runs", "restored": {restored}, "timestamp": "2026-01-01T00:00:02.000000Z"}}\n'
        '{"event": "task runs", "restored": 0, "timestamp": "2026-01-01T00:00:03.750000Z"}\n'
        '{"event": "task ru'
    )
    return path


def test_recovery_lasts_until_the_last_task_runs(tmp_path: Path) -> None:
    """A flow is back when all its partitions are. A line that is still being written is left for later."""
    assert 2.25 == recovery._took_s(_log(tmp_path / "log", 1_000), entries=1_000)


def test_a_recovery_that_read_the_whole_history_is_not_one_from_a_snapshot(tmp_path: Path) -> None:
    """Else a snapshot that was not used would be measured as one."""
    with pytest.raises(BenchError, match="3,000 entries"):
        recovery._took_s(_log(tmp_path / "log", 3_000), entries=1_000)


def test_measuring_a_batch_costs_less_than_two_per_cent_of_what_the_batch_costs() -> None:
    """At 3 us a record, the least that any of our benches saw."""
    batch, _ = metering(3)
    assert batch.value < 0.02 * 3.0 * BATCH
