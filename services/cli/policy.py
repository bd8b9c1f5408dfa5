"""`stigmergy policy`: who decides whether a flow moves."""

from typing import Annotated, Literal

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.asking import lay_down
from services.registry.changes import flow_of
from services.registry.snapshot import read_registry

app = typer.Typer()

MEANINGS = {
    "auto": "plans are carried out at once",
    "approve": "plans wait for stigmergy approve",
    "freeze": "plans are not carried out",
}


@app.command()
def policy(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    rule: Annotated[Literal["auto", "approve", "freeze"], typer.Argument(help="What becomes of its plans.")],
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Say what becomes of a flow's plans, whatever its file says: auto, approve or freeze."""
    address = bootstrap_of(bootstrap, home)
    flow_of(read_registry(address), flow)
    lay_down(address, "flow", flow, rule)
    if as_json:
        print_json({"flow": flow, "policy": rule})
    else:
        console.print(Text.assemble(("✓ ", "bold green"), (flow, "bold"), f": {MEANINGS[rule]}"), soft_wrap=True)
