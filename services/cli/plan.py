"""`stigmergy plan`: the plan of a flow against what runs now. Nothing is changed."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json
from services.registry.asking import ask, wait_answer
from services.registry.changes import flow_of
from services.registry.errors import RegistryError
from services.registry.pauses import predicted_pause_ms
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan

app = typer.Typer()

COLUMNS = ("segment", "partition", "from", "to")


@app.command()
def plan(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    *,
    anew: Annotated[
        bool, typer.Option("--anew", help="First let its leader send ants; its policy must hold plans.")
    ] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait for the ants.")] = 60.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest plan of a flow's leader: what would move, latency and pause predicted, and its hash."""
    address = bootstrap_of(bootstrap, home)
    if anew:
        _look_anew(address, flow, timeout_s=timeout_s)
    view = read_registry(address, catalogue.MOVES)
    flow_of(view, flow)
    if flow not in view.plans:
        raise RegistryError(f"flow {flow} has no plan yet", "its leader publishes one soon after stigmergy submit")
    values = plan_values(view, view.plans[flow])
    if as_json:
        print_json(values)
    else:
        _show(values)


def _look_anew(bootstrap: str, flow: str, *, timeout_s: float) -> None:
    """Ask the leader and wait for what it decides. Under `auto` that would be carried out at once: no dry run."""
    view = read_registry(bootstrap)
    known = flow_of(view, flow)
    ruled = view.policies.get(("flow", flow))
    policy = ruled.policy if ruled is not None else parse_graph(known.text).spec.moves
    if policy == "auto":
        raise RegistryError(
            f"what ants find for {flow} is carried out at once: its policy is auto",
            f"hold its plans first, with stigmergy policy {flow} approve",
        )
    with busy(f"ants look for a place for {flow}"):
        wait_answer(bootstrap, ask(bootstrap, "propose", flow), timeout_s=timeout_s, whom="no leader")


def plan_values(view: RegistryView, plan: CommittedPlan) -> dict[str, Any]:
    """The plan against the registry."""
    moves = []
    for (segment, partition), each in sorted(view.placements.items()):
        target = plan.hosts.get(segment)
        if each.flow == plan.flow and target is not None and each.host != target:
            moves.append({"segment": segment, "partition": partition, "from": each.host, "to": target})
    placed = {segment for (segment, _), each in view.placements.items() if each.flow == plan.flow and each.host}
    moves += [
        {"segment": segment, "partition": None, "from": None, "to": host}
        for segment, host in sorted(plan.hosts.items())
        if segment not in placed
    ]
    return {
        "flow": plan.flow,
        "hash": plan.hash,
        "revision": plan.revision,
        "reason": plan.reason,
        "decided_ms": plan.decided_ms,
        "leader": plan.leader,
        "predicted_latency_ms": plan.latency_ms,
        "predicted_cost_ms": plan.cost_ms,
        "predicted_pause_ms": predicted_pause_ms(view) if any(move["from"] for move in moves) else 0.0,
        "basis": plan.basis,
        "taps": [{"segment": tap.segment, "served_by": tap.server} for tap in plan.taps],
        "moves": moves,
        "is_carried_out": not moves,
    }


def _show(values: dict[str, Any]) -> None:
    head = f"plan {values['hash']} of {values['flow']}: {values['reason']}"
    console.print(Text(head, "bold"), soft_wrap=True)
    console.print(
        f"predicted latency {values['predicted_latency_ms']:.1f} ms, cost {values['predicted_cost_ms']:.1f} ms"
        f" ({', '.join(f'{name} {basis}' for name, basis in sorted(values['basis'].items())) or 'no basis told'})"
    )
    for tap in values["taps"]:
        console.print(f"{tap['segment']} is served by {tap['served_by']}, which runs an equal one", soft_wrap=True)
    if values["is_carried_out"]:
        console.print("It is what runs now.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS:
        table.add_column(column)
    for move in values["moves"]:
        table.add_row(*(str(move[name]) if move[name] is not None else "-" for name in COLUMNS))
    console.print(table)
    console.print(f"each moved partition would pause for about {values['predicted_pause_ms']:.0f} ms")
    console.print(f"carry it out with [cyan]stigmergy approve {values['hash']}[/cyan]")
