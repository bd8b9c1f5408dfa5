"""`python -m tests.chaos --seeds 200 --first-seed 1`: many seeds, one after the other, and their sum.

Exit code 0: all were good; 1: some were not; 130: interrupted, with the sum so far.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.ground import NO_BUG, Ground
from tests.chaos.groups import played
from tests.chaos.planted import BUGS
from tests.chaos.run import Run
from tests.chaos.scenario import scenario
from tests.chaos.summary import Summary

RUNS_PER_GROUND = 8


def main() -> int:
    """Entry of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Seeded faults on real hosts.")
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--bug", choices=sorted(BUGS), default=NO_BUG, help="plant this bug into every host")
    given = parser.parse_args()
    summary, seeds = Summary(), range(given.first_seed, given.first_seed + given.seeds)

    def some(few: Sequence[int]) -> None:
        with tempfile.TemporaryDirectory(prefix="stig-chaos-") as folder, Ground(Path(folder)) as ground:
            ground.plant(given.bug)
            for seed in few:
                outcome = Run(scenario(seed), ground).play()
                summary.add(outcome)
                print(f"[{len(summary.outcomes)}/{len(seeds)}] {outcome.line}", flush=True)

    return played(seeds, RUNS_PER_GROUND, some, summary)


if __name__ == "__main__":
    sys.exit(main())
