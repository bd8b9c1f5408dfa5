"""`stigmergy flows`: every flow, whether it runs, how far it is behind, and what is wrong with it."""

from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView

app = typer.Typer()


@app.command()
def flows(bootstrap: BootstrapOption = None, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Show the flows: revision, state, how many of their partitions run, lag, and reasons for trouble."""
    rows = flow_rows(read_registry(bootstrap_of(bootstrap, home)))
    if as_json:
        print_json(rows)
        return
    if not rows:
        console.print("There are no flows. Run one with [cyan]stigmergy run FILE[/cyan].")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("flow", "revision", "state", "running", "lag", "hosts"):
        table.add_column(column, justify="right" if column in ("revision", "running", "lag") else "left")
    for row in rows:
        running = f"{row['running']}/{row['wanted']}"
        where = ", ".join(row["hosts"])
        table.add_row(row["flow"], str(row["revision"]), _state(row), running, f"{row['lag']:,}", where)
    console.print(table)
    for row in rows:
        for trouble in row["trouble"]:
            console.print(Text.assemble(("parked ", "bold yellow"), trouble), soft_wrap=True)


def flow_rows(view: RegistryView) -> list[dict[str, Any]]:
    """One row a flow, by name."""
    return [_row(view, name) for name in sorted(view.flows)]


def _row(view: RegistryView, name: str) -> dict[str, Any]:
    flow = view.flows[name]
    placed = {slot: each for slot, each in view.placements.items() if each.flow == name and each.host is not None}
    statuses = {
        slot: status
        for slot, each in placed.items()
        if (status := view.statuses.get(slot)) is not None and status.epoch >= each.epoch
    }
    running = sum(status.state == "running" for status in statuses.values())
    parked = sorted(slot for slot, status in statuses.items() if status.state == "parked")
    state = (
        flow.state if flow.state == "withdrawn" or not placed else "running" if running == len(placed) else "starting"
    )
    return {
        "flow": name,
        "revision": flow.revision,
        "delivery": flow.delivery,
        "state": "parked" if parked else state,
        "running": running,
        "wanted": len(placed),
        "lag": sum(status.lag for status in statuses.values()),
        "hosts": sorted({str(each.host) for each in placed.values()}),
        "trouble": [f"{slot[0]}/{slot[1]} on {statuses[slot].host}: {statuses[slot].reason}" for slot in parked],
    }


def _state(row: dict[str, Any]) -> Text:
    colours = {"running": "green", "parked": "red", "withdrawn": "dim"}
    return Text(row["state"], colours.get(row["state"], "yellow"))
