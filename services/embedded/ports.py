"""Free ports on the loopback interface, outside the range that the kernel gives to outgoing connections.

A server on a port of that range can lose it: while it restarts, a client that keeps connecting to the port may be given
the very same port as its own, connect to itself, and hold it. So we choose from the ports below.
"""

import random
import socket
from pathlib import Path

from services.embedded.errors import StackError
from services.settings import LOOPBACK

LOWEST_PORT = 15_000
ATTEMPTS_MAX = 500
_KERNEL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LINUX_FIRST_OUTGOING_PORT = 32_768


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(wanted: list[int | None]) -> list[int]:
    """A free port for each entry, all different: the wanted one if it is given and free, else one chosen at random."""
    kept = [port if port is not None and is_free(port) else None for port in wanted]
    taken = {port for port in kept if port is not None}
    chosen = []
    for port in kept:
        if port is None:
            port = _any_free(taken)  # noqa: PLW2901 - the gap in the list is what is being filled
            taken.add(port)
        chosen.append(port)
    return chosen


def _any_free(taken: set[int]) -> int:
    ceiling = _first_outgoing_port()
    rng = random.SystemRandom()
    for _ in range(ATTEMPTS_MAX):
        port = rng.randrange(LOWEST_PORT, ceiling)
        if port not in taken and is_free(port):
            return port
    raise StackError(
        f"no free port between {LOWEST_PORT} and {ceiling} in {ATTEMPTS_MAX} attempts",
        "see what listens there with ss -ltn, and stop some of it",
    )


def _first_outgoing_port() -> int:
    try:
        first = int(_KERNEL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = _LINUX_FIRST_OUTGOING_PORT
    # A kernel set to give out nearly all ports leaves no room below; then the usual range is as good as any.
    return first if first > LOWEST_PORT + ATTEMPTS_MAX else _LINUX_FIRST_OUTGOING_PORT
