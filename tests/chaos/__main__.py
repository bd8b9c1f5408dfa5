"""`python -m tests.chaos --seeds 200 --first-seed 1`: many seeds, one after the other, and their sum.

Exit code 0: all were good; 1: some were not; 130: interrupted, with the sum so far.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.ground import NO_BUG, Ground
from tests.chaos.planted import BUGS
from tests.chaos.run import Run
from tests.chaos.scenario import scenario
from tests.chaos.summary import Summary

RUNS_PER_GROUND = 8
"""Then a new broker: the supervisor forgives only so many deaths in a row, and old topics slow a restart down."""


def main() -> int:
    """Entry of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Seeded faults on real hosts.")
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--bug", choices=sorted(BUGS), default=NO_BUG, help="plant this bug into every host")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background
        signal.signal(number, signal.default_int_handler)
    summary = Summary()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    try:
        for start in range(0, len(seeds), RUNS_PER_GROUND):
            _some(seeds[start : start + RUNS_PER_GROUND], summary, given.bug, count=len(seeds))
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    finally:
        print(f"\n{summary.text}")
    return 1 if summary.bad else 0


def _some(seeds: range, summary: Summary, bug: str, *, count: int) -> None:
    """Some runs on one ground."""
    with tempfile.TemporaryDirectory(prefix="stig-chaos-") as folder, Ground(Path(folder)) as ground:
        ground.plant(bug)
        for seed in seeds:
            outcome = Run(scenario(seed), ground).play()
            summary.add(outcome)
            print(f"[{len(summary.outcomes)}/{count}] {outcome.line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
