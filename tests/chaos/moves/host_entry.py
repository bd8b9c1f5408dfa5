"""`python -m tests.chaos.moves.host_entry HOLDS CLOCK BUG HOST-ARGUMENTS...`: a host that holds where it is told to.

Otherwise it is the host of all fault tests (tests/chaos/entry.py).
"""

import sys
from pathlib import Path

from tests.chaos import entry
from tests.chaos.moves.holds import install_in_host


def main() -> None:
    """Entry of the process."""
    folder, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    entry.main(lambda: install_in_host(Path(folder), arguments[arguments.index("--name") + 1]))


if __name__ == "__main__":
    main()
