"""`python -m tests.chaos.moves.placement_entry HOLDS INSTANCE-ARGUMENTS...`: an instance that holds where told.

Otherwise it is the product's own `python -m services.placement`.
"""

import sys
from pathlib import Path

from services.placement import main as placement
from tests.chaos.moves.holds import install_in_placement


def main() -> None:
    """Entry of the process."""
    folder, *arguments = sys.argv[1:]
    install_in_placement(Path(folder), arguments[arguments.index("--name") + 1])
    sys.argv[1:] = arguments
    placement.main()


if __name__ == "__main__":
    main()
