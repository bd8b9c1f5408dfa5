"""`stigmergy drain`: everything leaves a host, with its state, and nothing comes until it is opened again."""

import time
from typing import Annotated

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json, show_error
from services.registry.asking import POLL_S, lay_down
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry

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
    address = bootstrap_of(bootstrap, home)
    view = read_registry(address)
    if host not in view.hosts:
        raise RegistryError(f"there is no host {host!r}", f"the hosts are: {', '.join(sorted(view.hosts)) or 'none'}")
    lay_down(address, "host", host, "open" if undo else "drained")
    left = 0
    if not undo and wait:
        deadline_s = time.monotonic() + timeout_s
        with busy(f"everything leaves {host}"):
            while (left := owned(address, host)) and time.monotonic() < deadline_s:
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


def owned(bootstrap: str, host: str) -> int:
    """How many partitions a host owns."""
    return sum(each.host == host for each in read_registry(bootstrap).placements.values())
