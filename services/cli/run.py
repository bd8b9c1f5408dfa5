"""`stigmergy run`: submits a flow, spreads it over the hosts that live, and follows it until it runs.

It is for clusters without a placement instance; where one is active, `stigmergy submit` is the way.
"""

from typing import Annotated, Any

import typer
from rich.text import Text

from services.cli.authority import refuse_beside_placement
from services.cli.cluster import BootstrapOption, Cluster, cluster_of
from services.cli.exits import ExitCode
from services.cli.flow_files import FlowFile, read_flow_file
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, errors, print_json, show_error
from services.cli.settling import Settled, wait_running
from services.registry.errors import RegistryError
from services.registry.liveness import live_hosts
from services.registry.submit import Submission, submit

app = typer.Typer()


@app.command()
def run(
    file: FlowFile,
    *,
    hosts: Annotated[
        str | None, typer.Option(help="Only these hosts, as a,b.", show_default="all that are live")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Then watch it, as stigmergy top does.")] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait until it runs.")] = 60.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a flow where no placement instance is active: submit it, place it by a simple rule, wait until it runs."""
    cluster = cluster_of(bootstrap, home)
    address = cluster.bootstrap
    refuse_beside_placement(address, f"submit it with stigmergy submit {file}")
    chosen = choose_hosts(cluster, hosts)
    text, _ = read_flow_file(file)
    submission = submit(address, text, hosts=chosen)
    with errors.status("starting") as status:
        settled = wait_running(
            address,
            submission.placements,
            timeout_s=timeout_s,
            on_progress=lambda running, wanted: status.update(f"{running} of {wanted} run"),
        )
    if as_json:
        print_json(_values(submission, settled))
    else:
        _show(submission, settled)
    if not settled.is_running:
        raise typer.Exit(ExitCode.FAILURE)
    if follow:
        from services.cli.top import watch

        watch(cluster, flow=submission.flow)


def choose_hosts(cluster: Cluster, named: str | None) -> list[str]:
    """The hosts that live, or those of them that were named. Raises RegistryError if there are none."""
    live = sorted(live_hosts(cluster.bootstrap, silent_s=cluster.silent_s))
    if named is None:
        if not live:
            raise RegistryError("no host lives", "start one with stigmergy host --name NAME, or all with stigmergy up")
        return live
    wanted = [name.strip() for name in named.split(",") if name.strip()]
    for name in wanted:
        if name not in live:
            raise RegistryError(f"host {name!r} does not live", f"the hosts that do: {', '.join(live) or 'none'}")
    if not wanted:
        raise RegistryError("--hosts names no host", "such as --hosts edge-1,edge-2")
    return wanted


def _show(submission: Submission, settled: Settled) -> None:
    for topic in submission.created:
        console.print(f"created topic {topic}")
    by_host: dict[str, int] = {}
    for placement in submission.placements.values():
        by_host[str(placement.host)] = by_host.get(str(placement.host), 0) + 1
    where = ", ".join(f"{count} on {name}" for name, count in sorted(by_host.items()))
    if settled.is_running:
        count = len(submission.placements)
        what = f" runs at revision {submission.revision}: {count} partitions of its segments, {where}"
        console.print(Text.assemble(("✓ ", "bold green"), (submission.flow, "bold"), what), soft_wrap=True)
    else:
        show_error(f"{submission.flow} does not run yet: {settled.trouble}", "see it with stigmergy flows")


def _values(submission: Submission, settled: Settled) -> dict[str, Any]:
    return {
        "flow": submission.flow,
        "revision": submission.revision,
        "created_topics": submission.created,
        "running": settled.is_running,
        "trouble": None if settled.is_running else settled.trouble,
        "placements": [
            {
                "segment": segment,
                "partition": partition,
                "host": placement.host,
                "epoch": placement.epoch,
                "state": status.state if (status := settled.statuses[segment, partition]) is not None else None,
            }
            for (segment, partition), placement in submission.placements.items()
        ],
    }
