"""Same seed, same run, bit for bit, in any process."""

import os
import subprocess
import sys

from placement.simulator.scenario import Scenario, live
from placement.simulator.trace import TraceHash
from services.lab.chance import seeded

PROGRAM = """
from placement.simulator.scenario import Scenario, live
from placement.simulator.trace import TraceHash
from services.lab.chance import seeded
trace = TraceHash()
live(Scenario(3, flows=2, duration_ms=12_000.0, rest_ms=20_000.0), seeded(3), observer=trace)
print(trace.lines, trace.digest())
"""


def run(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_two_processes_with_different_hash_seeds_give_the_same_trace() -> None:
    """A set iterated without sorting would show here, and make every failing seed unrepeatable."""
    first, second = run("1"), run("2718")
    assert first == second
    assert int(first.split()[0]) > 1_000


def test_different_seeds_give_different_traces() -> None:
    """Otherwise the test above would prove nothing."""
    digests = set()
    for seed in (3, 4):
        trace = TraceHash()
        live(Scenario(seed, flows=1, duration_ms=12_000.0, rest_ms=20_000.0), seeded(seed), observer=trace)
        digests.add(trace.digest())
    assert len(digests) == 2
