"""What a cell has promised, compared with what the registry says. Pure but for the cell that it mends.

Messages of leaders can get lost, and a host that starts again remembers nothing. The registry knows: what has ended or
moved elsewhere ends here too, and what runs here is booked.
"""

from collections.abc import Mapping

from placement.ants.enforcement import Release
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.model import Flow
from placement.queueing import load_of
from topics.messages import CommittedPlan, FlowRevision


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
    """Book what the plan runs here."""
    mask = sum(1 << place for place, task in enumerate(flow.tasks) if plan.hosts.get(task.name) == cell.host)
    load = load_of((stream for _, stream in flow.graph.streams(mask)), cell.capacity)
    cell.ledger.restore(Booking(plan.flow, plan.epoch, mask, load, State.ACTIVE, float("inf"), plan.leader))
