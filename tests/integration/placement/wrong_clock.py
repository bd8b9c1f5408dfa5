"""`python -m tests.integration.placement.wrong_clock SECONDS HOST-ARGUMENTS...`: a host with a clock that is so wrong.

Otherwise it is the product's own `python -m services.host`.
"""

import sys
import time

from services.host import main as host


def main() -> None:
    """Entry of the process."""
    ahead_s, *arguments = sys.argv[1:]
    right_s, right_ns = time.time, time.time_ns
    time.time = lambda: right_s() + float(ahead_s)
    time.time_ns = lambda: right_ns() + int(float(ahead_s) * 1e9)
    sys.argv[1:] = arguments
    host.main()


if __name__ == "__main__":
    main()
