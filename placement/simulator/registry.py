"""The registry of a simulated system: what hosts and leaders find when they compare themselves with it after a fault.

Live, it is the compacted topic of placements. Here it is what the leaders know, and the newest epoch of those that are
gone.
"""

from collections.abc import Iterator, Mapping

from placement.ants.enforcement import Activation, Release
from placement.cell_ledger import Booking, State
from placement.leader import Leader
from placement.leader_events import ServingEnds


def ended_bookings(
    host: str, bookings: list[Booking], leaders: Mapping[str, Leader], last_epochs: Mapping[str, int]
) -> list[Release]:
    """Promises of a host that have ended or moved elsewhere, so that they end here too."""
    found = []
    for booking in bookings:
        leader = leaders.get(booking.flow)
        if leader is None:
            ended = last_epochs.get(booking.flow, booking.epoch)
        elif leader.plan is None:
            ended = leader.standing.ended_epoch
        else:
            ended = leader.plan.epoch - (host in leader.running.values())
        if booking.epoch <= ended:
            found.append(Release(booking.flow, ended))
    return found


def missed_activations(host: str, bookings: list[Booking], leaders: Mapping[str, Leader]) -> list[Activation]:
    """Plans that run here though the host has only committed to them: their activation got lost on a cut way."""
    found = []
    for booking in bookings:
        leader = leaders.get(booking.flow)
        runs = leader is not None and leader.plan is not None and leader.plan.epoch == booking.epoch
        if leader is not None and runs and booking.state is not State.ACTIVE and host in leader.running.values():
            found.append(Activation(booking.flow, booking.epoch, leader.host))
    return found


def ended_taps(leaders: Mapping[str, Leader]) -> Iterator[tuple[str, Release]]:
    """(flow, news) for leaders that still count a tap which no plan has any more."""
    for flow, leader in sorted(leaders.items()):
        for by, epoch in leader.standing.grants.held():
            tapper = leaders.get(by)
            if tapper is None or flow not in tapper.standing.tapped_flows:
                yield flow, Release(by, epoch)


def unserved_taps(leaders: Mapping[str, Leader]) -> Iterator[tuple[str, ServingEnds]]:
    """(flow, news) for leaders whose plan taps a flow that is gone, or that has let go of its room."""
    placed = {flow for flow, leader in leaders.items() if leader.plan is not None}
    for flow, leader in sorted(leaders.items()):
        for gone in sorted({offer.flow for offer in leader.standing.taps.values()} - placed):
            yield flow, ServingEnds(gone)
