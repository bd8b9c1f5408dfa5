"""Who may write where things run: an active placement instance alone, and commands only where there is none."""

from services.placement.params import LEASE
from services.registry.errors import RegistryError
from services.registry.lease_holder import lease_holder


def placed_by(bootstrap: str) -> str | None:
    """The placement instance that acts; None if nobody does, so that commands may place things themselves."""
    return lease_holder(bootstrap, LEASE)


def refuse_beside_placement(bootstrap: str, instead: str) -> None:
    """Raises RegistryError with what to do instead, if a placement instance acts: two writers would undo each other."""
    instance = placed_by(bootstrap)
    if instance is not None:
        raise RegistryError(f"placement instance {instance} is active, and it alone says where things run", instead)
