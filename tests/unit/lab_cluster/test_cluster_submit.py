"""What the bench of a cluster makes of a submitted flow."""

import pytest

from services.lab.cluster.submit import TEXT, Submission, rows, submission_of
from services.lab.cluster.watch import slots_of
from services.lab.dataplane.ground import BenchError
from tests.unit.lab_cluster.messages import placed, plan, revision, running, seen

SLOTS = frozenset({("one", 0), ("two", 0)})
COURSE = [
    seen(11.0, revision("other")),
    seen(12.0, revision("f")),
    seen(12.5, plan("f", one="a", two="b")),
    seen(12.6, placed("one", "a")),
    seen(12.8, placed("two", "b")),
    seen(13.0, running("one", "a", state="recovering")),
    seen(13.1, running("one", "a")),
    seen(13.6, running("two", "b")),
    seen(14.0, plan("f", one="b", two="b")),
]


def test_a_submission_is_told_by_the_first_of_each_and_the_last_of_all_partitions() -> None:
    """A second plan, or another flow, must not move the moments."""
    found = submission_of(COURSE, "f", SLOTS, begun_s=10.0, result_s=15.0)
    moments = (found.written_s, found.planned_s, found.placed_s, found.running_s, found.result_s)
    assert pytest.approx((2.0, 2.5, 2.8, 3.6, 5.0)) == moments


def test_a_flow_that_never_ran_is_no_sample() -> None:
    """Its times would be made up."""
    with pytest.raises(BenchError):
        submission_of(COURSE[:-2], "f", SLOTS, begun_s=10.0, result_s=15.0)


def test_both_clocks_have_a_median_and_a_largest() -> None:
    """From the command's start, and from the registry's entry."""
    found = {row.measure: row for row in rows([Submission(1.0, 1.5, 1.6, 2.0, at_s) for at_s in (3.0, 4.0, 9.0)])}
    whole, rest = "from the command's start", "from the registry's entry"
    assert 4.0 == found[f"submit to first result, {whole}, median"].value
    assert 9.0 == found[f"submit to first result, {whole}, largest"].value
    assert (3.0, (2.0, 8.0), 3) == (
        found[f"submit to first result, {rest}, median"].value,
        found[f"submit to first result, {rest}, median"].spread,
        found[f"submit to first result, {rest}, median"].repetitions,
    )


def test_the_flow_of_the_bench_has_two_segments() -> None:
    """Its first result needs an edge topic and state: one partition before the edge, and four behind it."""
    assert 5 == len(slots_of(TEXT.replace("NAME", "f")))
