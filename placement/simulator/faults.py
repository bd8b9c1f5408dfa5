"""Faults: hosts and links of a simulated system die, return and change, and who notices.

What is true changes at once: what ran on a dead host does not run any more, and messages take the ways that are left.
Cells, leaders and the registry notice after DETECTION_MS.
"""

import math

from placement.leader_events import Healed, HostLost
from placement.simulator.body import Body
from placement.simulator.measured import links_ms
from placement.simulator.registry import ended_bookings, ended_taps, missed_activations, unserved_taps
from placement.simulator.severed import cut_off

DETECTION_MS = 1_000.0
"""How long neighbours and leaders need to notice that a host or link is gone or back."""


def lose_host(body: Body, host: str) -> None:
    """A host dies with everything on it: its tasks, its cell, the leaders that live there."""
    if host in body.damage.hosts:
        return
    died_ms = body.kernel.now_ms
    body.damage.lose_host(host, now_ms=died_ms)
    body.rewire()
    for flow, leader in sorted(body.leaders.items()):
        if leader.host == host:
            body.retire(flow)  # its source is gone, so it ends until its user submits it again
        elif host in leader.running.values():
            body.truth.remove(flow)
        else:
            continue
        body.fallen.add(flow)
    body.kernel.after(DETECTION_MS, _notice_host_loss, body, host, died_ms)


def return_host(body: Body, host: str) -> None:
    """A host comes back, empty."""
    if host not in body.damage.hosts:
        return
    body.damage.return_host(host, now_ms=body.kernel.now_ms)
    body.rewire()
    # Its news must not be taken for older than what the cell before it told; live, it counts from the clock too.
    body.cells[host] = body.new_cell(host, born=math.ceil(body.kernel.now_ms))
    body.kernel.after(DETECTION_MS, _notice_return, body)


def lose_link(body: Body, a: str, b: str) -> None:
    """A link dies; messages take other ways, or none."""
    body.damage.lose_link(a, b, now_ms=body.kernel.now_ms)
    body.rewire()
    body.kernel.after(DETECTION_MS, _notice_link_loss, body)


def return_link(body: Body, a: str, b: str) -> None:
    """A link works again."""
    body.damage.return_link(a, b, now_ms=body.kernel.now_ms)
    body.rewire()
    body.kernel.after(DETECTION_MS, _notice_return, body)


def change_link(body: Body, a: str, b: str, delay_ms: float) -> None:
    """A link of a routed network becomes slower or faster."""
    body.damage.change_link(a, b, delay_ms)
    body.rewire()
    body.kernel.after(DETECTION_MS, _notice_links, body)


def _notice_host_loss(body: Body, host: str, died_ms: float) -> None:
    """Also if the host is back already: what ran there does not run any more."""
    _notice_links(body)
    for flow in sorted(body.leaders):
        if body.published_ms.get(flow, -math.inf) <= died_ms:
            body.tell_leader(flow, HostLost(host))
        elif _has_forgotten(body, host, flow):
            body.truth.remove(flow)
            body.fallen.add(flow)
            body.tell_leader(flow, HostLost(host))
    _notice_cuts(body)


def _has_forgotten(body: Body, host: str, flow: str) -> bool:
    """Whether a plan should run at a host that died between its commitment and the leader's word."""
    leader = body.leaders[flow]
    if leader.plan is None or host not in leader.running.values():
        return False
    booked = {(booking.flow, booking.epoch) for booking in body.cells[host].ledger.bookings()}
    return host in body.damage.hosts or (flow, leader.plan.epoch) not in booked


def _notice_link_loss(body: Body) -> None:
    _notice_links(body)
    _notice_cuts(body)


def _notice_return(body: Body) -> None:
    _notice_links(body)
    for flow in sorted(body.leaders):
        body.tell_leader(flow, Healed())
    _notice_cuts(body)


def _notice_cuts(body: Body) -> None:
    """The host from which data do not get further says so."""
    for flow, news in list(cut_off(body.leaders, body.network, body.damage.hosts)):
        body.tell_leader(flow, news)


def _notice_links(body: Body) -> None:
    """Every living cell compares its links with the network, and its promises with the registry."""
    for host in sorted(body.cells):
        if host not in body.damage.hosts:
            _compare_links(body, host)
            _compare_promises(body, host)
    for flow, released in list(ended_taps(body.leaders)):
        body.tell_leader(flow, released)
    for flow, ending in list(unserved_taps(body.leaders)):
        body.tell_leader(flow, ending)


def _compare_links(body: Body, host: str) -> None:
    cell = body.cells[host]
    links = links_ms(body.network, body.truth.wire_loads, body.network.host_index[host])
    for neighbour in sorted(set(cell.links_ms) - set(links)):
        body.carry_out(host, cell.link_lost(neighbour))
    for neighbour in sorted(links):
        if cell.links_ms.get(neighbour) != links[neighbour]:
            body.carry_out(host, cell.link_changed(neighbour, links[neighbour]))


def _compare_promises(body: Body, host: str) -> None:
    """What has ended or moved elsewhere ends here too, and what runs here is no mere promise."""
    cell = body.cells[host]
    bookings = cell.ledger.bookings()
    for news in (
        *ended_bookings(host, bookings, body.leaders, body.epochs),
        *missed_activations(host, bookings, body.leaders),
    ):
        body.carry_out(host, cell.hear(news, now_ms=body.kernel.now_ms, rng=body.rng(host)))
