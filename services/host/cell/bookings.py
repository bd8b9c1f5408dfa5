"""What a cell has promised, compared with what the registry says. Pure but for the cell that it mends.

Messages of leaders can get lost, and a host that starts again remembers nothing. The registry knows: what has ended or
moved elsewhere ends here too, and what runs here is booked. What it weighs is a guess then; the host sees better.
"""

from collections.abc import Iterable, Mapping

from placement.ants.enforcement import Release
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.model import Flow
from placement.queueing import Load, load_of
from services.host.cell.rows import load_of_rows
from topics.messages import CommittedPlan, FlowRevision, OperatorMetrics

LOAD_CHANGE = 0.02
"""Utilisation that was measured here is told to the cell when it changed by this."""


def ended_here(cell: Cell, flows: Mapping[str, FlowRevision], plans: Mapping[str, CommittedPlan]) -> list[Release]:
    """What the cell should hear because its promises are out of date."""
    ended: dict[str, int] = {}
    for booking in cell.ledger.bookings():
        flow, plan = flows.get(booking.flow), plans.get(booking.flow)
        if flow is None or flow.state == "withdrawn":
            last = booking.epoch
        elif plan is None:
            continue
        else:
            last = plan.epoch - 1 if cell.host in plan.hosts.values() else plan.epoch
        if booking.epoch <= last:
            ended[booking.flow] = max(last, ended.get(booking.flow, -1))
    return [Release(flow, epoch) for flow, epoch in sorted(ended.items())]


def is_missing(cell: Cell, plan: CommittedPlan) -> bool:
    """Whether the plan runs here and the cell does not know it for sure."""
    return cell.host in plan.hosts.values() and not cell.ledger.runs(plan.flow, since_epoch=plan.epoch)


def book(cell: Cell, plan: CommittedPlan, flow: Flow) -> None:
    """Book what the plan runs here, at what the flow is thought to weigh."""
    mask = sum(1 << place for place, task in enumerate(flow.tasks) if plan.hosts.get(task.name) == cell.host)
    load = load_of((stream for _, stream in flow.graph.streams(mask)), cell.capacity)
    booking = Booking(plan.flow, plan.epoch, mask, load, State.ACTIVE, float("inf"), plan.leader, is_guess=True)
    cell.ledger.restore(booking)


def better_known(cell: Cell, rows: Iterable[OperatorMetrics]) -> dict[str, Load]:
    """Flow -> its load by the rows of this host, where that is another than was guessed."""
    guessed = {booking.flow: booking.load.rho for booking in cell.ledger.bookings() if booking.is_guess}
    seen: dict[str, list[OperatorMetrics]] = {}
    for row in rows:
        if row.flow in guessed:
            seen.setdefault(row.flow, []).append(row)
    loads = {flow: load_of_rows(rows, cell.capacity) for flow, rows in sorted(seen.items())}
    return {flow: load for flow, load in loads.items() if abs(load.rho - guessed[flow]) >= LOAD_CHANGE}
