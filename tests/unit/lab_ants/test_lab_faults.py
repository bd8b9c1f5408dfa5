"""What `ants/faults` counts as recovered."""

import math
from itertools import permutations
from pathlib import Path
from unittest.mock import Mock

import pytest

from placement.model import Host, OverlayNetwork
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams
from placement.strategies import NoFeasibleHost
from placement.strategies.protocol import StoppedWithoutProof
from services.lab.experiments import Trial, fault_recovery
from services.lab.experiments.fault_recovery import FAULTS, HOSTS_DIED, LINKS_DIED, LOOK_MS, recovery_s
from services.lab.samples import rows


def test_a_flow_that_never_gets_faster_has_no_time_of_recovery() -> None:
    """It was told as recovered in 0 s, as if ants had been quick."""
    assert recovery_s([30.0] * 50) is None
    assert recovery_s([30.0, *[29.0] * 50]) is None


def test_a_flow_that_does_not_run_again_has_no_time_of_recovery() -> None:
    assert recovery_s([math.inf] * 50) is None


def test_the_time_of_recovery_begins_with_the_notice() -> None:
    """A second after the fault; before that nobody can do anything."""
    looks = int(2_500.0 / LOOK_MS)
    assert pytest.approx(1.5) == recovery_s([math.inf] * looks + [20.0] * 10)
    assert pytest.approx(0.0) == recovery_s([math.inf] * 2 + [20.0] * 10)


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """A short life on a user's matrix of ten hosts."""
    network = tmp_path / "net.csv"
    network.write_text("\n".join(",".join(str(abs(a - b) * 4 + 2) for a in range(10)) for b in range(10)))
    for name, value in (("FLOWS", 8), ("FAULT_COUNT", 2), ("PINNED_COUNT", 1), ("PAUSE_MS", 3_000.0)):
        monkeypatch.setattr(fault_recovery, name, value)
    monkeypatch.setattr(fault_recovery, "WORKLOAD", QueryParams())
    return Trial(1, network)


def found(trial: Trial) -> dict[str, float]:
    return {row.measure: row.value for row in rows(FAULTS.trial(trial))}


def test_flows_leave_half_of_a_small_network_to_die(trial: Trial) -> None:
    """Where something is pinned to every host, none can be chosen."""
    assert len(fault_recovery._Life(trial).pinned) <= 5


def test_hosts_and_links_die_on_a_small_matrix_too(trial: Trial) -> None:
    """Flows were pinned to all of its hosts and an overlay had no links, so nothing died, and all was well."""
    told = found(trial)
    assert told[HOSTS_DIED] > 0
    assert told[LINKS_DIED] > 0
    assert told["dead link: flows that became slower, ends still joined"] > 0


def test_nothing_to_kill_is_told(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no flow runs there is no host to choose, which ended with an error."""
    monkeypatch.setattr(Body, "submit", lambda body, flow: None)
    told = found(trial)
    assert (0.0, 0.0) == (told[HOSTS_DIED], told[LINKS_DIED])
    assert 0.0 == told["dead consumer: hosts that died"]


def test_a_place_that_is_only_not_ruled_out_is_no_room(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that stopped without proof was told as room that ants had not found."""
    life = fault_recovery._Life(trial)
    flow = life.flows[0]
    assert fault_recovery._Room.FOUND is fault_recovery._room(life.body, flow)
    for error, room in (
        (StoppedWithoutProof("f"), fault_recovery._Room.PERHAPS),
        (NoFeasibleHost("f"), fault_recovery._Room.NONE),
    ):
        monkeypatch.setattr(fault_recovery, "search", Mock(side_effect=error))
        assert room is fault_recovery._room(life.body, flow)
        life.judge([flow.name], "here: ")
        told = {sample.measure: sample.value for sample in life.samples[-2:]}
        assert [0.0, float(room is fault_recovery._Room.PERHAPS)] == [
            told[f"here: {measure}"] for measure in (fault_recovery.ROOM, fault_recovery.PERHAPS)
        ]


def test_a_flow_that_did_not_run_before_is_not_hit(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no room, whatever dies; it was told as one that did not recover."""
    life = fault_recovery._Life(trial)
    latency_ms = life.body.latency_ms
    ran, idle = next(
        (ran, idle) for ran, idle in permutations(life.flows, 2) if ran.sinks[0].host in fault_recovery._ends(idle)
    )
    monkeypatch.setattr(life.body, "latency_ms", lambda name: math.inf if name == idle.name else latency_ms(name))
    monkeypatch.setattr(life.rng, "choice", lambda flows: ran)
    life.lose_end("end", leader=False)
    told = {sample.measure: sample.value for sample in life.samples}
    pinned = sum(ran.sinks[0].host in fault_recovery._ends(flow) for flow in life.flows)
    assert (pinned - 1, 0) == (told["end: flows hit"], told["end: that did not run again in 20 s"])


def test_links_of_an_overlay_are_pairs_of_hosts() -> None:
    network = OverlayNetwork.sparse(tuple(Host(name, 1.0) for name in "abc"), [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert [(0, 2)] == fault_recovery._crossed(network, 0, 2)
    assert [] == fault_recovery._crossed(network, 1, 1)
