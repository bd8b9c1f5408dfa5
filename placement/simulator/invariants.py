"""Invariants: what must hold in every run, whatever dies and whoever competes."""

import math

from placement.cell_ledger import State
from placement.leader_phases import Phase
from placement.model import Problem
from placement.model.validator import Rule, violations
from placement.queueing import UTILISATION_CAP
from placement.simulator.body import Body


class BrokenInvariantError(AssertionError):
    """A run did what no run may do; the message has the command that shows it again."""


def promised_rho(body: Body, host: str) -> float:
    """What a host has promised in all, each flow with the larger of its loads.

    Summed here and not asked of the ledger: a ledger that forgets a promise must not be its own witness.
    """
    ledger = body.cells[host].ledger
    promised: dict[str, float] = {}
    for booking in ledger.bookings():
        if booking.expires_ms >= body.kernel.now_ms:
            promised[booking.flow] = max(booking.load.rho, promised.get(booking.flow, 0.0))
    return ledger.background.rho + math.fsum(promised.values())


def host_faults(body: Body, host: str) -> list[str]:
    """What is wrong at one host now: overbooked, or pheromone that is no probability."""
    found = []
    cell = body.cells[host]
    rho = promised_rho(body, host)
    if not rho < UTILISATION_CAP:
        found.append(f"{host} is promised to {rho:.3f}, the cap is {UTILISATION_CAP}")
    found += [
        f"{host} holds epoch {booking.epoch} of {booking.flow}, which has ended here"
        for booking in cell.ledger.bookings()
        if booking.state is not State.ACTIVE and booking.epoch <= cell.ledger.ended(booking.flow)
    ]
    for destination in cell.pheromone.destinations():
        vector = cell.pheromone.known(destination, now_ms=body.kernel.now_ms)
        if vector is None or not vector.neighbours:
            continue
        total = math.fsum(vector.probabilities)
        if not math.isclose(total, 1.0, abs_tol=1e-9) or min(vector.probabilities) < 0:
            found.append(f"{host}: pheromone towards {destination} sums to {total!r}")
        if set(vector.neighbours) != set(cell.links_ms):
            found.append(f"{host}: pheromone towards {destination} and links disagree")
    return found


def system_faults(body: Body) -> list[str]:
    """What is wrong with all that runs now: an invalid placement, an unsound tap, a leader that believes otherwise.

    Promises without a plan are looked for at rest (`rest_faults`). Budgets are not judged: leaders may owe.
    """
    flows = tuple(body.truth.running[name].flow for name in sorted(body.truth.running))
    problem = Problem(body.network, flows, background=body.background())
    unserved = {
        name
        for name, running in body.truth.running.items()
        if any(other not in body.truth.running for other, _ in running.taps.values())
    }
    found = tap_faults(body)
    found += [
        broken.message
        for broken in violations(problem, body.truth.placement())
        # A cut network breaks ways, a fallen flow serves nobody; leaders then find others.
        if (broken.rule is not Rule.UNREACHABLE or body.damage.none) and broken.flow not in unserved
    ]
    for name, leader in sorted(body.leaders.items()):
        if name in body.truth.running:
            own = body.truth.running[name].own
            truth = {task: body.network.hosts[host].name for task, host in enumerate(own) if host is not None}
            if truth != leader.running:
                found.append(f"{name}: runs at {truth}, its leader believes {leader.running}")
        if leader.phase is Phase.WITHDRAWN and name in body.truth.running:
            found.append(f"{name} was withdrawn and still runs")
    return found


def tap_faults(body: Body) -> list[str]:
    """Taps of what runs nowhere though no fault explains it, and taps that the flow which serves does not know of."""
    found = []
    for name, running in sorted(body.truth.running.items()):
        for task, (other, served) in sorted(running.taps.items()):
            where = f"{name}/{running.flow.tasks[task].name} taps {other}"
            serving = body.truth.running.get(other)
            if serving is None:
                if other not in body.fallen:
                    found.append(f"{where}, which was ended while it was tapped")
                continue
            if serving.own[served] is None:
                found.append(f"{where}/{serving.flow.tasks[served].name}, which runs nowhere")
            if body.damage.none and name not in body.leaders[other].standing.grants.tappers:
                found.append(f"{where}, whose leader does not know of it")
    return found


def rest_faults(body: Body) -> list[str]:
    """What is wrong once a system has come to rest: promises that nobody will keep or end."""
    found = []
    for host, cell in sorted(body.cells.items()):
        if host in body.damage.hosts:
            continue
        for booking in cell.ledger.bookings():
            leader = body.leaders.get(booking.flow)
            if booking.state is not State.ACTIVE:
                if booking.expires_ms < body.kernel.now_ms:
                    continue  # expired; swept when the next ant comes
                if leader is None or leader.phase is not Phase.ENFORCING:
                    found.append(f"{host} still holds {booking.state.value} room for {booking.flow}")
            elif leader is None or leader.plan is None or leader.plan.epoch != booking.epoch:
                found.append(f"{host} runs epoch {booking.epoch} of {booking.flow}, which has ended")
    for name, leader in sorted(body.leaders.items()):
        for by in sorted(set(leader.standing.grants.tappers) - set(body.leaders)):
            found.append(f"{name} still serves {by}, which has ended")
        for host in sorted(set(leader.running.values()) - body.damage.hosts):
            booked = [b for b in body.cells[host].ledger.bookings() if b.flow == name and b.state is State.ACTIVE]
            if not booked:
                found.append(f"{name} runs at {host}, which has no booking for it")
    return found
