"""`stigmergy plan`: what a flow's leader would do, against what runs now. Nothing is changed."""

import time
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json
from services.registry.asking import POLL_S, ask, wait_answer
from services.registry.changes import flow_of
from services.registry.decisions import BUSY
from services.registry.errors import RegistryError
from services.registry.pauses import pause_model
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan, Decision, Figures, ProposedPlan

app = typer.Typer()

COLUMNS = ("segment", "partition", "from", "to", "pause")
ARRIVES_S_MAX = 10.0
"""A proposal is written before the decision that tells of it, but to another topic."""


@app.command()
def plan(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    *,
    last: Annotated[bool, typer.Option("--last", help="Ask nobody: show the newest plan that there is.")] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait for the ants.")] = 60.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what a flow's leader would do: what would move, latency, pause and network cost against now, and a hash.

    A plan that waits for an approval is shown as it is; else ants look for a better place, and nothing is changed.
    """
    address = bootstrap_of(bootstrap, home)
    view = _registry(address)
    flow_of(view, flow)
    held = is_held(view, flow)
    said = None if last or held else _dry_run(address, flow, timeout_s=timeout_s)
    found = _proposal(address, flow, said) if said is not None and said.kind == "proposed" else None
    view = _registry(address)
    if found is None and flow not in view.plans:
        raise RegistryError(f"flow {flow} has no plan yet", "its leader publishes one soon after stigmergy submit")
    values = plan_values(view, found or view.plans[flow], said=said)
    if as_json:
        print_json(values)
    else:
        _show(values)


def _registry(bootstrap: str) -> RegistryView:
    return read_registry(bootstrap, catalogue.MOVES, catalogue.PROPOSALS)


def is_held(view: RegistryView, flow: str) -> bool:
    """Whether the newest plan waits for a person: its leader already reckons with it, and would propose no other."""
    plan, ruled = view.plans.get(flow), view.policies.get(("flow", flow))
    policy = ruled.policy if ruled is not None else parse_graph(view.flows[flow].text).spec.moves
    return plan is not None and policy != "auto" and bool(_moves(view, plan))


def _dry_run(bootstrap: str, flow: str, *, timeout_s: float) -> Decision:
    """What the leader says, whatever the flow's policy. Raises RegistryError if it finds no place at all."""
    with busy(f"ants look for a place for {flow}"):
        said = wait_answer(bootstrap, ask(bootstrap, "propose", flow), timeout_s=timeout_s, whom="no leader")
    if said.kind == BUSY:
        raise RegistryError(f"no dry run for {flow}: {said.why}", f"ask again later, or see stigmergy explain {flow}")
    if said.kind == "refused":
        raise RegistryError(f"there is no place for {flow}: {said.why}", "add a host, or relax its bound")
    return said


def _proposal(bootstrap: str, flow: str, said: Decision) -> ProposedPlan:
    deadline_s = time.monotonic() + ARRIVES_S_MAX
    while time.monotonic() < deadline_s:
        proposal = _registry(bootstrap).proposals.get(flow)
        if proposal is not None and proposal.hash == said.plan:
            return proposal
        time.sleep(POLL_S)
    raise RegistryError(f"plan {said.plan} was proposed but can't be read", "ask again")


def plan_values(view: RegistryView, plan: CommittedPlan, *, said: Decision | None = None) -> dict[str, Any]:
    """The plan against the registry. `said`: what its leader answered, if it was asked."""
    moves, measured = _moves(view, plan), len(pause_model(view).seen)
    is_kept = said is not None and said.kind == "kept"
    then = plan.then or Figures(latency_ms=plan.latency_ms, cost_ms=plan.cost_ms)
    now = plan.now or Figures()
    if said is not None and is_kept:
        now = then = _as_kept(said, then)
    pauses = [move["predicted_pause_ms"] for move in moves if move["from"] is not None]
    return {
        "flow": plan.flow,
        "hash": plan.hash,
        "revision": plan.revision,
        "is_proposal": isinstance(plan, ProposedPlan),
        "reason": said.why if said is not None and is_kept else plan.reason,
        "objection": plan.objection if isinstance(plan, ProposedPlan) else None,
        "decided_ms": plan.decided_ms,
        "leader": plan.leader,
        "predicted_latency_ms": then.latency_ms,
        "predicted_cost_ms": then.cost_ms,
        "predicted_pause_ms": max(pauses, default=0.0),
        "now": _by_name(now),
        "then": _by_name(then),
        "basis": plan.basis,
        "taps": [{"segment": tap.segment, "served_by": tap.server} for tap in plan.taps],
        "pause_basis": f"{measured} measured moves" if measured else "default",
        "grounds": plan.grounds,
        "moves": moves,
        "is_carried_out": not moves,
    }


def _as_kept(said: Decision, then: Figures) -> Figures:
    """What the flow costs where it is and stays, as ants have just measured it."""
    latency_ms, cost_ms = said.evidence.get("latency_ms"), said.evidence.get("now_cost_ms")
    return Figures(
        latency_ms=latency_ms if isinstance(latency_ms, float | int) else None,
        cost_ms=cost_ms if isinstance(cost_ms, float | int) else None,
        network_bytes=then.network_bytes,
    )


def _by_name(figures: Figures) -> dict[str, float | None]:
    return {name: getattr(figures, name) for name in figures.__struct_fields__}


def _moves(view: RegistryView, plan: CommittedPlan) -> list[dict[str, Any]]:
    """What is not yet so, a partition each; without a number for a segment that nobody runs."""
    model, moves = pause_model(view), []
    for (segment, partition), each in sorted(view.placements.items()):
        target = plan.hosts.get(segment)
        if each.flow == plan.flow and target is not None and each.host not in (target, None):
            pause_ms = model.predict(segment, each.host, target, unread_changes=0)
            moves.append(
                {
                    "segment": segment,
                    "partition": partition,
                    "from": each.host,
                    "to": target,
                    "predicted_pause_ms": pause_ms,
                }
            )
    placed = {segment for (segment, _), each in view.placements.items() if each.flow == plan.flow and each.host}
    return moves + [
        {"segment": segment, "partition": None, "from": None, "to": host, "predicted_pause_ms": 0.0}
        for segment, host in sorted(plan.hosts.items())
        if segment not in placed
    ]


def _show(values: dict[str, Any]) -> None:
    head = f"plan {values['hash']} of {values['flow']}: {values['reason']}"
    console.print(Text(head, "bold"), soft_wrap=True)
    now, then = values["now"], values["then"]
    for name, unit in (("latency", "ms"), ("cost", "ms"), ("network", "bytes")):
        before, after = now[f"{name}_{unit}"], then[f"{name}_{unit}"]
        what = "under way on the network" if name == "network" else f"predicted {name}"
        console.print(f"{what}: {_figure(after, unit)}, now {_figure(before, unit)}")
    basis = ", ".join(f"{name} {each}" for name, each in sorted(values["basis"].items()))
    console.print(f"reckoned from: {basis or 'no basis told'}; pause: {values['pause_basis']}", soft_wrap=True)
    for tap in values["taps"]:
        console.print(f"{tap['segment']} is served by {tap['served_by']}, which runs an equal one", soft_wrap=True)
    if values["is_carried_out"]:
        console.print("It is what runs now.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS:
        table.add_column(column)
    for move in values["moves"]:
        pause = f"{move['predicted_pause_ms']:.0f} ms" if move["from"] is not None else None
        cells = (*(move[name] for name in COLUMNS[:-1]), pause)
        table.add_row(*(str(cell) if cell is not None else "-" for cell in cells))
    console.print(table)
    if values["objection"] is not None:
        console.print(f"its leader would not do it by itself: {values['objection']}", soft_wrap=True)
    console.print(f"carry it out with [cyan]stigmergy approve {values['hash']}[/cyan]")


def _figure(value: float | None, unit: str) -> str:
    return f"{value:.1f} {unit}" if value is not None else "not known"
