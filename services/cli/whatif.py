"""`stigmergy whatif`: what would be done if a host were lost, a rate changed or a host added. Nothing is changed."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from placement.model import Host
from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json, show_error
from services.registry.asking import now_ms
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from services.whatif.past import as_of
from services.whatif.question import Answer, answer
from services.whatif.recorded import read_recorded
from services.whatif.world import World, drained_hosts, faster, world_of
from topics import catalogue

app = typer.Typer()

NUMBER = r"(\d{1,9}(\.\d*)?|\.\d+)"
RATE = re.compile(rf"(?P<flow>[a-z0-9-]+)=(?P<factor>{NUMBER})x")
NEW_HOST = re.compile(rf"(?P<name>[^:]+)(:(?P<capacity>{NUMBER})(:(?P<region>.+))?)?")


@app.command()
def whatif(
    *,
    since: Annotated[str | None, typer.Option("--from", help="Use measurements up to this time (ISO 8601).")] = None,
    host_lost: Annotated[list[str] | None, typer.Option(help="Without this host; may be repeated.")] = None,
    rate: Annotated[list[str] | None, typer.Option(help="FLOW=2x: its sources send twice as much.")] = None,
    add_host: Annotated[list[str] | None, typer.Option(help="NAME[:CAPACITY[:REGION]]: with this host too.")] = None,
    seed: Annotated[int, typer.Option(help="Seed for the ants; same seed, same answer.")] = 1,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Feed recorded measurements to the ants, with a change, and show what they would do and how fast that would be."""
    address = bootstrap_of(bootstrap, home)
    view, notes = read_registry(address, catalogue.MOVES), list[str]()
    recorded = read_recorded(address, until_ms=_time_ms(since))
    if since is not None:
        view, notes = as_of(view, _time_ms(since))
    for name in host_lost or ():
        if name not in view.hosts:
            raise RegistryError(f"there is no host {name!r}", f"the hosts are: {', '.join(sorted(view.hosts))}")
    now, drained = world_of(view, recorded), drained_hosts(view)
    more = [_host(text) for text in add_host or ()]
    notes += _notes(view, now, host_lost or (), more)
    then = world_of(view, recorded, without=host_lost or (), more=more, drained=drained)
    for text in rate or ():
        then = _sped(then, text)
    found = answer(now, then, seed=seed, notes=tuple(notes))
    refused = [flow.flow for flow in found.flows if flow.refused is not None]
    if as_json:
        print_json(found)
    else:
        _show(found)
    if found.infeasible is not None or refused:
        why = found.infeasible or f"ants find none for {', '.join(refused)}"
        if not as_json:
            show_error(f"there would be no place for everything: {why}", "add a host, or relax a bound")
        raise typer.Exit(ExitCode.FAILURE)


def _notes(view: RegistryView, now: World, lost: Sequence[str], more: Sequence[Host]) -> list[str]:
    """What of the answer is not as one may think. Raises RegistryError if a host would be there twice."""
    names = [host.name for host in now.hosts if host.name not in lost]
    regions = {host.region for host in now.hosts}
    for host in more:
        if host.name in names:
            raise RegistryError(f"--add-host {host.name}: there is such a host", "give the new one another name")
        names.append(host.name)
    strange = [host for host in more if host.region not in regions]
    return [f"host {name} is drained: nothing stays or goes there" for name in sorted(drained_hosts(view))] + [
        f"nobody has measured how far {host.name} is: no host is in region {host.region!r}, so a guess stands in"
        for host in strange
    ]


def _time_ms(text: str | None) -> int:
    if text is None:
        return now_ms()
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1_000)
    except ValueError as error:
        raise RegistryError(f"--from {text!r}: {error}", "such as --from 2026-11-16T08:00:00") from error


def _host(text: str) -> Host:
    match = NEW_HOST.fullmatch(text)
    if match is None:
        raise RegistryError(f"--add-host {text!r} names no host", "such as --add-host edge-9:2.0:eu-north")
    return Host(match["name"], float(match["capacity"] or 1), region=match["region"] or "")


def _sped(world: World, text: str) -> World:
    match = RATE.fullmatch(text)
    if match is None or match["flow"] not in world.flows or float(match["factor"]) <= 0:
        raise RegistryError(f"--rate {text!r} is not FLOW=2x", f"the flows are: {', '.join(sorted(world.flows))}")
    return faster(world, match["flow"], float(match["factor"]))


def _show(found: Answer) -> None:
    for flow in found.flows:
        if flow.refused is not None:
            console.print(f"[bold]{flow.flow}[/bold]: {_ms(flow.latency_now_ms)} -> no place: {flow.refused}")
            continue
        console.print(
            f"[bold]{flow.flow}[/bold]: {_ms(flow.latency_now_ms)} -> {_ms(flow.latency_ms)} predicted latency"
            f" (seen from above: {_ms(flow.central.latency_ms if flow.central is not None else None)})"
        )
        for task, origin, target in flow.moves:
            console.print(f"  {task}: {origin or 'nowhere'} -> {target}")
        if not flow.moves:
            console.print("  stays where it is")
    console.print(f"by ants in the simulator (seed {found.seed}) over recorded measurements; from above: all at once,")
    console.print("by steepest descent, whatever runs now")
    for note in found.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _ms(value: float | None) -> str:
    return f"{value:.2f} ms" if value is not None else "?"
