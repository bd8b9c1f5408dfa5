"""How a stack looks on the screen: what runs, where, and what to try next."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from services.cli.screen import console, errors, print_json
from services.demo.furnish import FLOW, PRODUCER
from services.embedded.furniture import DEMO_SOURCE
from services.embedded.record import ProcessRecord, StackRecord, WayRecord, WorldRecord
from services.logs import hide_in_text, hide_in_values
from services.placement.furnish import INSTANCES
from services.settings import load_settings
from topics.admin import Difference


def show_stack(record: StackRecord, home: Path, *, detached: bool) -> None:
    """The screen at the end of `up`."""
    program = _program()
    there = "" if home == load_settings().settings.home else f" --home {home}"
    console.print(Panel(process_table(record.processes), title="Stigmergy is up", title_align="left", expand=False))
    if record.world is not None:
        console.print(world_table(record.world))
    tips = Table(box=None, show_header=False, pad_edge=False)
    tips.add_row(
        "see it", Text(", ".join(f"{program} {command}{there}" for command in ("status", "flows", "top")), "cyan")
    )
    names = {process.name for process in record.processes}
    has_demo, has_placement = PRODUCER in names, bool(names & set(INSTANCES))
    if has_demo:
        tips.add_row("send records", f"to topic {DEMO_SOURCE.name} at {record.bootstrap}, with any Kafka client")
    else:
        tips.add_row("Kafka", f"at {record.bootstrap}, for any client")
    tips.add_row("try a flow", Text(f"{program} flow run FILE --input records.jsonl", "cyan"))
    if has_placement:
        tips.add_row("submit it", Text(f"{program} submit FILE{there}", "cyan"))
        tips.add_row("ask why it is there", Text(f"{program} explain {FLOW if has_demo else 'FLOW'}{there}", "cyan"))
    else:
        commands = (f"{program} {command}{there}" for command in ("host --name edge-1", "placement --name p1"))
        tips.add_row("add a host, and placement", Text(", ".join(commands), "cyan"))
    tips.add_row("stop it", Text(f"{program} down{there}" if detached else "Ctrl-C", "cyan"))
    tips.add_row("data and logs", Text(str(home)))
    console.print(tips, soft_wrap=True)


def print_stack(stack: object) -> None:
    """The stack as JSON. What prints it may be a log, so the credentials of a Redis of the user's own are hidden."""
    print_json(hide_in_values(msgspec.to_builtins(stack)))


def process_table(processes: Sequence[ProcessRecord], answers: Sequence[bool] | None = None) -> Table:
    """One line a process; with `answers`, also whether it answered just now."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("process", "state", "address", "pid", "restarts"):
        table.add_column(column, justify="right" if column in ("pid", "restarts") else "left", no_wrap=True)
    for index, process in enumerate(processes):
        # What nobody waits for may still be starting, and then says so itself.
        silent = answers is not None and not answers[index] and (process.is_awaited or process.state == "ready")
        state = Text("does not answer", "red") if silent else _state(process)
        pid = "yours" if not process.log else str(process.pid or "-")
        table.add_row(process.name, state, hide_in_text(process.address), pid, str(process.restarts))
    return table


def world_table(world: WorldRecord) -> Table:
    """Regions and the round trips between them; a limited way also shows its bandwidth."""
    ways = {way.between: way for way in world.ways}
    table = Table(box=None, header_style="bold", pad_edge=False, title=f"world {world.name}", title_justify="left")
    for column in ("region", "broker", "hosts", *world.regions):
        table.add_column(column, justify="left" if column in ("region", "broker") else "right")
    for region, hosts in world.regions.items():
        cells = [_way(ways.get((min(region, other), max(region, other)))) for other in world.regions]
        table.add_row(region, "yes" if region in world.brokers else "-", str(len(hosts)), *cells)
    return table


def _way(way: WayRecord | None) -> str:
    if way is None:
        return "."
    limit = f", {way.bandwidth_mbit:g} Mbit/s" if way.bandwidth_mbit is not None else ""
    return f"{way.round_trip_ms:g} ms{limit}"


def show_differences(differences: Sequence[Difference]) -> None:
    """Topics that are not as they should be are used, but never silently."""
    for difference in differences:
        told = f"topic {difference.what}; stigmergy doctor says how to mend it"
        errors.print(Text.assemble(("warning: ", "bold yellow"), told), soft_wrap=True)


def _program() -> str:
    """How a person calls us: by our name where the shell finds it, else by the path that was used this time."""
    return "stigmergy" if shutil.which("stigmergy") else sys.argv[0]


def _state(process: ProcessRecord) -> Text:
    colours = {"ready": "green", "failed": "red"}
    return Text(process.state, colours.get(process.state, "yellow"))
