"""`stigmergy bench`: measure, print, and write what was found for others to read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from services.lab.results import Results, results, write
from services.operators.collector import collect_rarely

app = typer.Typer(help="Measure what the parts can do on this machine.", no_args_is_help=True)

JsonOption = Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")]


@app.callback()
def bench() -> None:
    """Measure what the parts can do on this machine."""


@app.command()
def operators(
    records: Annotated[int, typer.Option(min=1_000, help="How many records a run takes.")] = 1_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often both sides run.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the records.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """Operators against a hand-written loop: filter -> project -> tumbling count by key, JSON in and out."""
    from services.lab.bench_operators import Params, measure

    console = Console(stderr=True)
    collect_rarely()
    with console.status("making records") as status:
        rows = measure(
            Params(records=records, repetitions=repetitions, seed=seed),
            progress=status.update,
        )
    command = f"stigmergy bench operators --records {records} --repetitions {repetitions} --seed {seed}"
    found = results(command, rows, seeds=[seed])
    Console().print(table(found))
    if json_file is not None:
        write(found, json_file)


def table(found: Results) -> Table:
    """The rows for a person."""
    made = Table(title=found.command, title_justify="left", caption=" · ".join(map(str, found.machine.values())))
    made.add_column("measure", no_wrap=True)
    for heading in ("median", "low", "high"):
        made.add_column(heading, justify="right")
    made.add_column("unit")
    for row in found.rows:
        made.add_row(row.measure, *(_number(value) for value in (row.value, *row.spread)), row.unit)
    return made


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
