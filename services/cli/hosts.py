"""`stigmergy hosts`: every host that has registered, whether it lives, and how busy it is."""

from collections.abc import Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, cluster_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from topics.messages import HostMetrics

app = typer.Typer()


@app.command()
def hosts(bootstrap: BootstrapOption = None, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Show the hosts: region, capacity, whether they live, CPU, memory, and how many partitions they are given."""
    address, silent_s = cluster_of(bootstrap, home)
    rows = host_rows(read_registry(address), live_hosts(address, silent_s=silent_s))
    if as_json:
        print_json(rows)
    else:
        show_hosts(rows)


def show_hosts(rows: Sequence[dict[str, Any]]) -> None:
    """The hosts as a table, for people."""
    if not rows:
        console.print("No host has registered. Start one with [cyan]stigmergy host --name edge-1[/cyan].")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("host", "region", "state", "capacity", "cpu", "memory", "partitions"):
        table.add_column(column, justify="left" if column in ("host", "region", "state") else "right")
    for row in rows:
        state = Text("lives", "green") if row["lives"] else Text("silent", "red")
        cpu = f"{100 * row['cpu']:.0f} %" if row["lives"] else "-"
        memory = f"{row['memory_bytes'] / 2**20:.0f} MB" if row["lives"] else "-"
        capacity, partitions = f"{row['capacity']:g}", str(row["partitions"])
        table.add_row(row["host"], row["region"], state, capacity, cpu, memory, partitions)
    console.print(table)


def host_rows(view: RegistryView, live: dict[str, HostMetrics]) -> list[dict[str, Any]]:
    """One row a host, by name."""
    return [
        {
            "host": name,
            "region": each.region,
            "capacity": each.capacity,
            "address": each.address,
            "boot_id": each.boot_id,
            "started_ms": each.started_ms,
            "lives": name in live and live[name].boot_id == each.boot_id,
            "cpu": live[name].cpu if name in live else None,
            "memory_bytes": live[name].memory_bytes if name in live else None,
            "partitions": sum(placement.host == name for placement in view.placements.values()),
        }
        for name, each in sorted(view.hosts.items())
    ]
