"""A sample of the seeded fault test; `make chaos-hosts` runs 200 and more."""

import pytest
import redis

from tests.chaos.flows import CASES
from tests.chaos.ground import Ground, until
from tests.chaos.run import Run
from tests.chaos.scenario import HOSTS, WEIGHTS, scenario

SAMPLE = range(10, 30)


@pytest.mark.parametrize("seed", SAMPLE)
def test_faults_leave_no_trace_in_results_and_state(seed: int, ground: Ground) -> None:
    """Whatever is killed, frozen, filled or moved: what readers find is what the operators give without any fault."""
    outcome = Run(scenario(seed), ground).play()
    print(outcome.line)
    outcome.verdict.demand_good(outcome.line)


def test_the_hosts_use_the_redis_that_is_taken_from_them(ground: Ground) -> None:
    """Else its end would be no fault at all. A host that begins looks there for the pheromone that it had."""
    for name in HOSTS:
        ground.kill(name)
    with redis.Redis.from_url(ground.redis_url) as client:

        def looks() -> int:
            return client.info("commandstats").get("cmdstat_scan", {}).get("calls", 0)

        before = looks()
        ground.raise_hosts(HOSTS)
        until(lambda: looks() > before, "hosts have looked for their pheromone")


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
