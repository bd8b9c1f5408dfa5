"""`stigmergy status`: what runs, and whether all of it is ready.

The stack of the home, as `stigmergy up` started it; or, where a Kafka is named and no stack runs (as in a container),
what the cluster tells of itself: its hosts and its flows.
"""

from collections.abc import Sequence
from typing import Any

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, Cluster
from services.cli.exits import ExitCode
from services.cli.flows import flow_rows, look_at_flows, show_flows, trouble_lines
from services.cli.hosts import host_rows, show_hosts
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.cli.stack_screen import print_stack, process_table, world_table
from services.embedded.home import Home
from services.embedded.remote import View, look
from services.logs import hide_in_text
from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry
from services.registry.submit import count_topics
from services.settings import load_settings

app = typer.Typer()


@app.command()
def status(bootstrap: BootstrapOption = None, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Show what runs. Exit code 0 only when all is ready; 3 when nothing runs, 5 when something is not ready."""
    settings = load_settings({"home": home, "bootstrap": bootstrap}).settings
    place = Home(settings.home)
    view = look(place)
    if settings.bootstrap is not None and (bootstrap is not None or view.holder is None):
        raise typer.Exit(_cluster(Cluster(settings.bootstrap, settings.silent_s), as_json=as_json))
    code = exit_code(view)
    flows = []
    if code is ExitCode.OK and view.record is not None:
        flows = look_at_flows(Cluster(view.record.bootstrap, view.record.silent_s))
    if as_json:
        print_stack({**_as_values(place, view), "flows": flows})
    else:
        _show(place, view, code)
        for line in trouble_lines(flows):
            console.print(line, soft_wrap=True)
    raise typer.Exit(code)


def _cluster(cluster: Cluster, *, as_json: bool) -> ExitCode:
    bootstrap, silent_s = cluster
    registry, live = read_registry(bootstrap), live_hosts(bootstrap, silent_s=silent_s)
    hosts, flows = host_rows(registry, live), flow_rows(registry, live, count_topics(bootstrap))
    code = cluster_code(hosts, flows)
    if as_json:
        running = code is not ExitCode.NOT_RUNNING
        whole = {"running": running, "ready": code is ExitCode.OK, "bootstrap": bootstrap}
        print_json({**whole, "hosts": hosts, "flows": flows})
    else:
        show_hosts(hosts)
        show_flows(flows)
    return code


def cluster_code(hosts: Sequence[dict[str, Any]], flows: Sequence[dict[str, Any]]) -> ExitCode:
    """What `status` of a cluster ends with. A host that was stopped stays registered: one that nobody needs is fine."""
    if not any(row["lives"] for row in hosts):
        return ExitCode.NOT_RUNNING
    return ExitCode.OK if all(row["state"] in ("running", "withdrawn") for row in flows) else ExitCode.NOT_READY


def exit_code(view: View) -> ExitCode:
    """What `status` ends with."""
    if view.holder is None:
        return ExitCode.NOT_RUNNING
    return ExitCode.OK if view.is_ready else ExitCode.NOT_READY


def _show(place: Home, view: View, code: ExitCode) -> None:
    if code is ExitCode.NOT_RUNNING:
        console.print(f"Nothing runs in {place.path}.")
        if view.record is not None and view.record.error is not None:
            console.print(Text(f"The last start failed: {hide_in_text(view.record.error)}", "red"), soft_wrap=True)
        console.print("Start it with [cyan]stigmergy up[/cyan].")
        return
    if view.record is not None:
        console.print(process_table(view.record.processes, [seen.answers for seen in view.seen] or None))
    if view.record is not None and view.record.world is not None:
        console.print(world_table(view.record.world))
    ready = Text("all is ready", "bold green") if code is ExitCode.OK else Text("not ready yet", "bold yellow")
    console.print(Text.assemble(ready, f", in {place.path}"), soft_wrap=True)


def _as_values(place: Home, view: View) -> dict[str, object]:
    running = view.holder is not None
    return {
        "running": running,
        "ready": view.is_ready,
        "home": str(place.path),
        "pid": view.holder.pid if view.holder is not None else None,
        "bootstrap": view.record.bootstrap if running and view.record is not None else None,
        "redis_url": view.record.redis_url if running and view.record is not None else None,
        "error": view.record.error if view.record is not None else None,
        "world": view.record.world if running and view.record is not None else None,
        "processes": [
            {
                "name": seen.record.name,
                "state": seen.record.state,
                "answers": seen.answers,
                "address": seen.record.address,
                "pid": seen.record.pid,
                "restarts": seen.record.restarts,
                "log": seen.record.log,
            }
            for seen in view.seen
        ],
    }
