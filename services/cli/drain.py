"""`stigmergy drain`: everything leaves a host, with its state, and nothing comes until it is opened again."""

import time
from collections.abc import Collection
from typing import Annotated

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, cluster_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, errors, print_json, show_error
from services.registry.asking import POLL_S, lay_down
from services.registry.errors import RegistryError
from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView

app = typer.Typer()


@app.command()
def drain(
    host: Annotated[str, typer.Argument(help="The host's name.")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Open it again.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until nothing runs there.")] = True,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait.")] = 300.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Move everything away from a host, such as before its machine is shut down. --undo opens it again."""
    address, silent_s = cluster_of(bootstrap, home)
    view = read_registry(address)
    if host not in view.hosts:
        raise RegistryError(f"there is no host {host!r}", f"the hosts are: {', '.join(sorted(view.hosts)) or 'none'}")
    lay_down(address, "host", host, "open" if undo else "drained")
    left = 0
    if not undo and wait:
        deadline_s = time.monotonic() + timeout_s
        if owned(view, host) and not open_beside(view, live_hosts(address, silent_s=silent_s), host):
            text = f"no other open host lives: nothing leaves {host} until one is started, or opened with drain --undo"
            errors.print(Text(text, "yellow"), soft_wrap=True)
        with busy(f"everything leaves {host}"):
            while (left := owned(read_registry(address), host)) and time.monotonic() < deadline_s:
                time.sleep(POLL_S)
    if as_json:
        print_json({"host": host, "policy": "open" if undo else "drained", "left": left})
    elif left:
        show_error(f"{left} partitions are still on {host}", "see stigmergy history, and stigmergy hosts for room")
    else:
        done = " takes part again" if undo else " is empty" if wait else " is being drained"
        console.print(Text.assemble(("✓ ", "bold green"), (host, "bold"), done), soft_wrap=True)
    if left:
        raise typer.Exit(ExitCode.FAILURE)


def owned(view: RegistryView, host: str) -> int:
    """How many partitions a host owns, or has handed over and still drains."""
    placed = [each for each in view.placements.values() if each.host is not None]
    return sum(host in (each.host, each.origin) for each in placed)


def open_beside(view: RegistryView, live: Collection[str], host: str) -> list[str]:
    """The other hosts that live and take work."""
    drained = {name for (_, name), each in view.policies.items() if each.policy == "drained"}
    return sorted(set(live) - drained - {host})
