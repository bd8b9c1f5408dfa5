"""A seed without room for the workload is counted, and the others are told."""

from pathlib import Path

import pytest

from placement.strategies import NoFeasibleHost, StoppedWithoutProof
from services.lab import runner
from services.lab.experiments import Experiment, Trial
from services.lab.matrices import TopologyError
from services.lab.samples import Sample, rows

NETWORK = Path("mine.csv")


def run_with(monkeypatch: pytest.MonkeyPatch, wrong: dict[int, NoFeasibleHost], topology: Path | None) -> list[Sample]:
    """Three seeds, of which some fail."""

    def trial(which: Trial) -> list[Sample]:
        if which.seed in wrong:
            raise wrong[which.seed]
        return [Sample("m", float(which.seed), "ms", seed=which.seed)]

    experiment = Experiment("x", "?", "nothing", trial, seeds=3)
    monkeypatch.setattr(runner, "EXPERIMENTS", {"x": experiment})
    return runner.run("x", [Trial(seed, topology) for seed in (1, 2, 3)])


@pytest.mark.parametrize("topology", [None, NETWORK])
def test_a_seed_without_room_is_counted_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, topology: Path | None
) -> None:
    """One unlucky draw threw hours of other seeds away."""
    wrong = {2: NoFeasibleHost("full"), 3: StoppedWithoutProof("too large")}
    left_out, stopped, kept = rows(run_with(monkeypatch, wrong, topology))
    assert (runner.LEFT_OUT, 1.0) == (left_out.measure, left_out.value)
    assert (runner.STOPPED, 1.0) == (stopped.measure, stopped.value)
    assert ("m", 1.0, 1) == (kept.measure, kept.value, kept.repetitions)


def test_no_row_tells_of_seeds_left_out_where_none_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ["m"] == [row.measure for row in rows(run_with(monkeypatch, {}, NETWORK))]


def test_a_network_on_which_no_seed_fits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    full = dict.fromkeys((1, 2, 3), NoFeasibleHost("q1/o2: needs 3; add a host"))
    with pytest.raises(TopologyError, match=r"mine.csv: this network is too small .* \(q1/o2: needs 3\)"):
        run_with(monkeypatch, full, NETWORK)
    with pytest.raises(NoFeasibleHost, match="needs 3"):
        run_with(monkeypatch, full, None)
    stopped: dict[int, NoFeasibleHost] = dict.fromkeys((1, 2, 3), StoppedWithoutProof("200 branches"))
    with pytest.raises(TopologyError, match="200 branches; give one with fewer hosts"):
        run_with(monkeypatch, stopped, NETWORK)
