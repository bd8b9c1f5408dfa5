"""`stigmergy withdraw`: ends a flow; its topics and state stay.

Where a placement instance is active it frees the flow's partitions itself, once the flow is said to be withdrawn.
"""

import time
from typing import Annotated

import typer
from rich.text import Text

from services.cli.authority import placed_by
from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.changes import withdrawn
from services.registry.sharing_words import lingers_for
from services.registry.snapshot import read_registry
from services.registry.write import write
from topics.messages import FlowRevision, Placement

app = typer.Typer()


@app.command()
def withdraw(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """End a flow: hosts drain and stop its segments. Submit it again later and it resumes.

    What other flows read of it goes on until they have ended, too.
    """
    address = bootstrap_of(bootstrap, home)
    view = read_registry(address)
    entries = withdrawn(view, flow, now_ms=time.time_ns() // 1_000_000)
    is_placed_by_us = placed_by(address) is None
    write(address, [entry for entry in entries if is_placed_by_us or isinstance(entry[1], FlowRevision)])
    freed, readers = sum(isinstance(message, Placement) for _, message in entries), lingers_for(view, flow)
    if as_json:
        print_json({"flow": flow, "withdrawn": True, "placements_ended": freed, "lingers_for": readers})
    else:
        done = f" is withdrawn; {freed} partitions of its segments drain and stop"
        done += f"; what {', '.join(readers)} read of it goes on until they have ended" if readers else ""
        console.print(Text.assemble(("✓ ", "bold green"), (flow, "bold"), done), soft_wrap=True)
