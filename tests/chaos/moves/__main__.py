"""`python -m tests.chaos.moves`: the whole matrix, cell after cell, and its sum; or some cells of it.

Exit code 0: all were good; 1: some were not; 130: interrupted, with the sum so far.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.ground import NO_BUG
from tests.chaos.groups import played
from tests.chaos.moves.ground import MoveGround
from tests.chaos.moves.matrix import HURTS, PHASES, VICTIMS, Cell, cells
from tests.chaos.moves.run import MoveRun
from tests.chaos.moves.summary import Summary
from tests.chaos.planted import BUGS

CELLS_PER_GROUND = 12


def main() -> int:
    """Entry of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.moves", description="The chaos matrix of moves.")
    parser.add_argument("--phase", choices=PHASES, help="this row only")
    parser.add_argument("--victim", choices=VICTIMS, help="this column only")
    parser.add_argument("--hurt", choices=HURTS, help="this way to hurt only")
    parser.add_argument("--seed", type=int, default=1, help="says flow, records and instants of each cell")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="N", help="leave out the first N cells")
    parser.add_argument("--cells", type=int, help="so many at most")
    parser.add_argument("--bug", choices=sorted(BUGS), default=NO_BUG, help="plant this bug into every host")
    given = parser.parse_args()
    chosen = [
        cell
        for cell in cells(given.seed)
        if given.phase in (None, cell.phase) and given.victim in (None, cell.victim) and given.hurt in (None, cell.hurt)
    ][given.first :][: given.cells]
    summary = Summary()

    def some(few: Sequence[Cell]) -> None:
        with tempfile.TemporaryDirectory(prefix="stig-moves-") as folder, MoveGround(Path(folder)) as ground:
            ground.plant(given.bug)
            for cell in few:
                outcome = MoveRun(cell, ground).play_cell()
                summary.add(outcome)
                count = f"{len(summary.outcomes)}/{len(chosen)}"
                print(f"[{count}] in {outcome.took_s:.0f} s {outcome.line}", flush=True)

    return played(chosen, CELLS_PER_GROUND, some, summary)


if __name__ == "__main__":
    sys.exit(main())
