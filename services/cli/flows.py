"""`stigmergy flows`: every flow, whether it runs, how far it is behind, and what is wrong with it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, Cluster, cluster_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.placement.params import RECOUNT_S
from services.registry.liveness import live_hosts
from services.registry.sharing_words import lingers_for, shared_lines
from services.registry.snapshot import read_registry
from services.registry.submit import count_topics
from services.registry.view import RegistryView, Slot
from topics.messages import Placement, SegmentStatus

app = typer.Typer()


@app.command()
def flows(bootstrap: BootstrapOption = None, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Show the flows: revision, state, how many of their partitions run, lag, and reasons for trouble."""
    rows = look_at_flows(cluster_of(bootstrap, home))
    if as_json:
        print_json(rows)
    else:
        show_flows(rows)


def show_flows(rows: Sequence[dict[str, Any]]) -> None:
    """The flows as a table, and what is wrong with them, for people."""
    if not rows:
        console.print("There are no flows. Submit one with [cyan]stigmergy submit FILE[/cyan].")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("flow", "revision", "state", "running", "lag", "hosts"):
        table.add_column(column, justify="right" if column in ("revision", "running", "lag") else "left")
    for row in rows:
        running = f"{row['running']}/{row['wanted']}"
        where = ", ".join(row["hosts"])
        lag = "?" if row["lag"] is None else f"{row['lag']:,}"
        table.add_row(row["flow"], str(row["revision"]), _state(row), running, lag, where)
    console.print(table)
    for row in rows:
        for line in row["shared"]:
            console.print(Text.assemble((f"{row['flow']}: ", "bold"), line), soft_wrap=True)
    for trouble in trouble_lines(rows):
        console.print(trouble, soft_wrap=True)


def look_at_flows(cluster: Cluster) -> list[dict[str, Any]]:
    """One row a flow, as the cluster tells now."""
    live = live_hosts(cluster.bootstrap, silent_s=cluster.silent_s)
    return flow_rows(read_registry(cluster.bootstrap), live, count_topics(cluster.bootstrap))


def trouble_lines(rows: Sequence[dict[str, Any]], *, flow: str | None = None) -> list[Text]:
    """What is wrong with the flows, or with one of them, for people."""
    return [
        Text.assemble((f"{row['flow']}: ", "bold yellow"), trouble)
        for row in rows
        for trouble in row["trouble"]
        if flow in (None, row["flow"])
    ]


def flow_rows(view: RegistryView, live: Collection[str], topics: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row a flow, by name. `live` are the hosts that live: what the others said last means nothing.

    `topics`: how many partitions the topics of the cluster have.
    """
    return [_row(view, name, live, topics) for name in sorted(view.flows)]


def _row(view: RegistryView, name: str, live: Collection[str], topics: Mapping[str, int]) -> dict[str, Any]:
    flow = view.flows[name]
    placed = {slot: each for slot, each in view.placements.items() if each.flow == name and each.host is not None}
    silent = sorted({str(each.host) for each in placed.values()} - set(live))
    statuses = {
        slot: status
        for slot, each in placed.items()
        if (status := view.statuses.get(slot)) is not None and status.epoch >= each.epoch and status.host in live
    }
    running = sum(status.state == "running" for status in statuses.values())
    parked = sorted(slot for slot, status in statuses.items() if status.state == "parked")
    state: str = flow.state
    if placed and state != "withdrawn":
        state = "waiting" if silent else "running" if running == len(placed) else "starting"
    elif lingers_for(view, name):
        state = "lingering"
    trouble = [f"{slot[0]}/{slot[1]} is parked on {statuses[slot].host}: {statuses[slot].reason}" for slot in parked]
    trouble += [
        f"{slot[0]}/{slot[1]} is tried again on {status.host}: {status.reason}"
        for slot, status in sorted(statuses.items())
        if status.state == "recovering" and status.reason
    ]
    for host in silent:
        count = sum(each.host == host for each in placed.values())
        trouble.append(f"{count} partitions wait for host {host}, which is silent; start it, or assign them to another")
    trouble += _unread(placed.values(), topics)
    return {
        "flow": name,
        "revision": flow.revision,
        "delivery": flow.delivery,
        "state": "parked" if parked else state,
        "running": running,
        "wanted": len(placed),
        "lag": _lag(placed, statuses),
        "hosts": sorted({str(each.host) for each in placed.values()}),
        "trouble": trouble,
        "shared": shared_lines(view, name),
    }


def _unread(placed: Collection[Placement], topics: Mapping[str, int]) -> list[str]:
    """Of topics that have grown since they were counted for the flow."""
    read = {topic: count for each in placed for topic, count in each.source_partitions.items()}
    return [
        f"topic {topic} has {topics[topic]} partitions, and only {count} of them are read. An active placement "
        f"instance adds the others within {RECOUNT_S:.0f} s; without one, use stigmergy run with the same file. "
        "If the file says how many partitions the topic has, correct it first"
        for topic, count in sorted(read.items())
        if topics.get(topic, 0) > count
    ]


def _lag(placed: Collection[Slot], statuses: Mapping[Slot, SegmentStatus]) -> int | None:
    """Of all partitions together; None where that of one is not known: it may be the one that is behind."""
    if any(slot not in statuses or not statuses[slot].is_lag_known for slot in placed):
        return None
    return sum(status.lag for status in statuses.values())


def _state(row: dict[str, Any]) -> Text:
    colours = {"running": "green", "parked": "red", "withdrawn": "dim"}
    return Text(row["state"], colours.get(row["state"], "yellow"))
