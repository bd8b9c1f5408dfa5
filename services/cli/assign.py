"""`stigmergy assign`: gives partitions of one segment to another host, by hand, where no placement instance does."""

import time
from collections.abc import Collection, Mapping
from typing import Annotated

import typer
from rich.text import Text

from services.cli.authority import refuse_beside_placement
from services.cli.cluster import BootstrapOption, cluster_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, errors, print_json, show_error
from services.cli.settling import wait_running
from services.registry.changes import assigned, flow_of, let_go
from services.registry.errors import RegistryError
from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView, Slot
from services.registry.write import write
from topics import catalogue
from topics.messages import Placement

app = typer.Typer()


@app.command()
def assign(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    *,
    segment: Annotated[str, typer.Option(help="The segment: its id, the end of it, or one of its operators.")],
    host: Annotated[str, typer.Option(help="The host that is to run it.")],
    standby: Annotated[
        list[str] | None, typer.Option(help="A host that follows its state, to take over quickly; may be repeated.")
    ] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="One partition.", show_default="all of them")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it runs there.")] = True,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait.")] = 60.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a segment's partitions to a host where no placement instance is active: it takes over, the other stops.

    A former owner that lives drains first, unless you do not wait for it.
    """
    address, silent_s = cluster_of(bootstrap, home)
    view = read_registry(address)
    slots = find_slots(view, flow, segment, partition)
    for name in (host, *(standby or ())):
        if name not in view.hosts:
            known = ", ".join(sorted(view.hosts)) or "none"
            raise RegistryError(f"host {name!r} has never registered", f"start it, or take one of: {known}")
    living: Collection[str] = ()
    if wait and any(view.placements[slot].host != host for slot in slots):
        living = live_hosts(address, silent_s=silent_s)
        view = read_registry(address)  # that took a second
    operator = segment if partition is None else f"{segment}/{partition}"
    refuse_beside_placement(address, f"move it with stigmergy move {flow} {operator} {host}")
    now_ms = time.time_ns() // 1_000_000
    placements = {slot: assigned(view, slot, host, now_ms=now_ms, standbys=standby, living=living) for slot in slots}
    write(address, [(catalogue.PLACEMENTS, placement) for placement in placements.values()])
    trouble = _trouble(address, placements, timeout_s) if wait else None
    if as_json:
        print_json(
            {"assigned": list(placements.values()), "running": trouble is None if wait else None, "trouble": trouble}
        )
    elif trouble is None:
        for (segment_id, number), placement in placements.items():
            done = (
                f"{segment_id}/{number} {'runs' if wait else 'is assigned to run'} on {host}, epoch {placement.epoch}"
            )
            console.print(Text.assemble(("✓ ", "bold green"), done), soft_wrap=True)
    else:
        show_error(f"it is assigned but does not run yet: {trouble}", f"is host {host} up? See stigmergy hosts")
    if trouble is not None:
        raise typer.Exit(ExitCode.FAILURE)


def _trouble(address: str, placements: Mapping[Slot, Placement], timeout_s: float) -> str | None:
    """Waits until they run, and takes back whom they waited for; returns why they do not run, if so."""
    try:
        with errors.status("moving"):
            settled = wait_running(address, placements, timeout_s=timeout_s, on_progress=lambda running, wanted: None)
    finally:  # also if somebody has waited long enough: the new owner would wait again at every restart
        write(address, let_go(read_registry(address), placements.values()))
    return None if settled.is_running else settled.trouble


def find_slots(view: RegistryView, flow: str, segment: str, partition: int | None) -> list[Slot]:
    """The slots that the words of a person mean. Raises RegistryError with what there is to choose from."""
    flow_of(view, flow)
    placed = {
        slot: each for slot, each in sorted(view.placements.items()) if each.flow == flow and each.host is not None
    }
    found = {
        slot
        for slot, each in placed.items()
        if segment in (slot[0], slot[0].rpartition(".")[2]) or segment in each.operators
    }
    if len({slot[0] for slot in found}) != 1:
        offered = dict.fromkeys(f"{slot[0]} ({', '.join(each.operators)})" for slot, each in placed.items())
        raise RegistryError(
            f"flow {flow} has no placed segment {segment!r}", f"its segments: {'; '.join(offered) or 'none is placed'}"
        )
    slots = sorted(slot for slot in found if partition in (None, slot[1]))
    if not slots:
        numbers = ", ".join(str(slot[1]) for slot in sorted(found))
        raise RegistryError(f"segment {segment} has no partition {partition}", f"its partitions: {numbers}")
    return slots
