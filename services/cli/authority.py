"""Who may write where things run: an active placement instance alone, and commands only where there is none."""

import time

from services.placement.params import LEASE
from services.registry.errors import RegistryError
from services.registry.lease_holder import lease_holder

START_S = 3.0
"""An instance that answers its health check is active within this time, unless another one is."""
POLL_S = 0.2


def placed_by(bootstrap: str) -> str | None:
    """The placement instance that acts; None if nobody does, so that commands may place things themselves."""
    return lease_holder(bootstrap, LEASE)


def refuse_beside_placement(bootstrap: str, instead: str) -> None:
    """Raises RegistryError with what to do instead, if a placement instance acts: two writers would undo each other."""
    instance = placed_by(bootstrap)
    if instance is not None:
        raise RegistryError(f"placement instance {instance} is active, and it alone says where things run", instead)


def require_placement(bootstrap: str, *, patience_s: float, instead: str) -> None:
    """Raises RegistryError with what to do if no placement instance acts: what is submitted would wait for ever."""
    deadline_s = time.monotonic() + min(patience_s, START_S)
    while placed_by(bootstrap) is None:
        if time.monotonic() > deadline_s:
            raise RegistryError("no placement instance is active, so nothing would place the flow", instead)
        time.sleep(POLL_S)
