"""`queueing/error`: the cases that it reports."""

import pytest

from services.lab.experiments import Trial, queueing
from services.lab.samples import rows


def test_fused_tasks_behind_a_filter_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case had tasks that pass all messages on; the model was far off where they don't, and no row said so."""
    for size in ("MESSAGES", "NETWORK_MESSAGES", "FUSED_MESSAGES"):
        monkeypatch.setattr(queueing, size, 200)
    told = {row.measure for row in rows(queueing.QUEUEING.trial(Trial(1)))}
    for pair in queueing.FUSED:
        for rho in (0.3, 0.5, 0.7):
            assert f"model over real network - 1, {queueing.fused_name(*pair)}, rho {rho:g}" in told


def test_such_a_host_is_as_busy_as_the_row_says() -> None:
    for pair in queueing.FUSED:
        problem, placement = queueing._filter_before_work(*pair, 0.5)
        assert {("f", "filter"), ("f", "work")} == placement.hosts.keys()
        ((_, stream),) = problem.flows[0].graph.streams(0b11)
        assert pytest.approx(0.5) == stream.rate_per_ms * stream.work
