"""A sample of the seeded fault test; `make chaos-hosts` runs 200 and more."""

import pytest

from tests.chaos.flows import CASES
from tests.chaos.ground import Ground
from tests.chaos.run import Run
from tests.chaos.scenario import WEIGHTS, scenario

SAMPLE = range(10, 30)


@pytest.mark.parametrize("seed", SAMPLE)
def test_faults_leave_no_trace_in_results_and_state(seed: int, ground: Ground) -> None:
    """Whatever is killed, frozen, filled or moved: what readers find is what the operators give without any fault."""
    outcome = Run(scenario(seed), ground).play()
    print(outcome.line)
    assert outcome.verdict.is_good, outcome.line


def test_the_sample_has_every_flow_and_every_fault() -> None:
    """Else an operator or a fault would be tested on nobody's machine but its author's."""
    sample = [scenario(seed) for seed in SAMPLE]
    assert {case.name for case in CASES} == {each.case.name for each in sample}
    assert set(WEIGHTS) == {fault.kind for each in sample for fault in each.faults}
    assert {"at_least_once", "exactly_once"} == {each.delivery for each in sample}


def test_a_seed_says_all() -> None:
    """A recipe is worth nothing if the seed does not bring back the same records and faults."""
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)
