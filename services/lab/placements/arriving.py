"""To have segments at the hosts where a bench wants them: by moves that a person could ask for."""

import time
from collections.abc import Callable, Mapping

from placement.moves import ENDED
from services.registry.asking import ask
from services.registry.view import RegistryView, Slot

ASK_AGAIN_S = 20.0


def arriving(bootstrap: str, wanted: Mapping[str, tuple[str, str]]) -> Callable[[RegistryView], bool]:
    """A condition to wait for, with views that have moves: all of these segments run there. `wanted`: flow and host.

    Until then it asks for moves; for one that was refused or came to nothing again.
    """
    hosts = {segment: host for segment, (_, host) in wanted.items()}
    asked_s = -ASK_AGAIN_S

    def is_there(view: RegistryView) -> bool:
        nonlocal asked_s
        moving = under_way(view)
        if runs_at(view, hosts) and not moving:
            return True
        if time.monotonic() - asked_s >= ASK_AGAIN_S:
            asked_s = time.monotonic()
            for segment, (flow, host) in wanted.items():
                elsewhere = tuple(
                    slot[1]
                    for slot, each in sorted(view.placements.items())
                    if slot[0] == segment and each.host not in (None, host) and slot not in moving
                )
                if elsewhere:
                    ask(bootstrap, "move", flow, segment=segment, partitions=elsewhere, host=host)
        return False

    return is_there


def under_way(view: RegistryView) -> set[Slot]:
    """The partitions that a move cares for."""
    ended = {phase.value for phase in ENDED}
    return {(each.segment, each.partition) for each in view.moves.values() if each.phase not in ended}


def runs_at(view: RegistryView, hosts: Mapping[str, str]) -> bool:
    """Whether all partitions run where the registry says, and the named segments at these hosts."""
    for slot, each in view.placements.items():
        status = view.statuses.get(slot)
        running = status is not None and (status.host, status.epoch, status.state) == (each.host, each.epoch, "running")
        if each.host is not None and not (running and hosts.get(slot[0], each.host) == each.host):
            return False
    return True
