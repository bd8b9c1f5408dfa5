"""`ants/faults` asks whether any host is overbooked, so its hosts have to come near that."""

import pytest

from services.lab.experiments import Trial, fault_recovery
from services.lab.experiments.fault_recovery import CROWDED, FAULTS
from services.lab.samples import rows


def test_flows_load_hosts_nearly_to_the_cap_and_rows_tell_how_slow_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts that are half empty can't be overbooked, whatever ants do."""
    monkeypatch.setattr(fault_recovery, "FAULT_COUNT", 2)
    monkeypatch.setattr(fault_recovery, "PINNED_COUNT", 0)
    found = {row.measure: row.value for row in rows(FAULTS.trial(Trial(101)))}
    assert found["largest promised load of any host"] > CROWDED
    assert found["hosts overbooked at any time"] == 0
    assert "dead link: of these no faster 20 s later, without a time" in found
    assert found["dead host: latency 20 s later, mean"] > 0
