"""`stigmergy history`: who decided what, when, on which evidence."""

import time
from typing import Annotated

import typer
from rich.table import Table

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.snapshot import read_registry
from topics import catalogue
from topics.messages import Decision

app = typer.Typer()


@app.command()
def history(
    flow: Annotated[str | None, typer.Argument(help="Only decisions on this flow.")] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest decisions to show.")] = 50,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what was decided: plans accepted and refused, moves and how they ended, hosts that were lost."""
    view = read_registry(bootstrap_of(bootstrap, home), catalogue.DECISIONS)
    found = sorted(
        (each for each in view.decisions.values() if flow in (None, each.flow)), key=lambda each: each.decided_ms
    )[-limit:]
    if as_json:
        print_json(found)
        return
    if not found:
        console.print("Nothing has been decided yet.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("when", "by", "flow", "decision", "what", "why"):
        table.add_column(column)
    for each in found:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.decided_ms / 1_000))
        table.add_row(when, each.by, each.flow or "", each.kind, each.what, f"{each.why}{evidence(each)}")
    console.print(table)


def evidence(decision: Decision) -> str:
    """The figures of a decision, for people."""
    figures = [
        f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in sorted(decision.evidence.items())
    ]
    return f" ({', '.join(figures)})" if figures else ""
