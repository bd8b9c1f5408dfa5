"""Figure 3b: what is told as the latency at 100 s is that at 100 s."""

from pathlib import Path

import pytest

from placement.simulator.body import Body
from services.lab.experiments import Trial, self_optimisation
from services.lab.samples import rows

ACQUAINTED_MS = 2_000.0


def test_the_last_latency_is_that_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was the one 5 s later, of which the plot knows nothing."""
    network = tmp_path / "net.csv"
    network.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(12)) for b in range(12)))
    monkeypatch.setattr(self_optimisation, "WAVES", (3, 1, 1))
    monkeypatch.setattr(Body, "latency_ms", lambda body, name: body.kernel.now_ms)
    samples = self_optimisation.FIG_3B.trial(Trial(1, network))
    found = {row.measure: row.value for row in rows(samples)}
    assert pytest.approx(100_000.0 + ACQUAINTED_MS) == found["mean latency at 100 s, self-optimising"]
    assert 5.0 == found["queries placed, without"]
    assert max(sample.x for sample in samples if sample.x is not None) == 100.0
