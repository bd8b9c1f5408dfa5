"""`stigmergy flow`: check a flow file, draw it, try it. No broker is needed.

`check` and `graph` end with `ExitCode.FAILURE` when the flow has problems, after showing all of them.
"""

from collections.abc import Sized
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from services.cli import flow_run
from services.cli.exits import ExitCode
from services.cli.flow_files import FlowFile
from services.cli.options import AsJson
from services.cli.screen import console, errors, print_json
from topics.flow.describe import partition_count
from topics.flow.dot import to_dot
from topics.flow.drawing import Row, draw
from topics.flow.export import graph_values, problem_values
from topics.flow.file import load_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError

app = typer.Typer(help="Check, draw and try flow files; no broker needed.", no_args_is_help=True, add_completion=False)

_SEGMENT_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


@app.command()
def check(file: FlowFile, as_json: AsJson = False) -> None:
    """Check a flow file: list every problem, or summarise what it compiles to."""
    compiled = _load(file, as_json=as_json)
    spec = compiled.spec
    if as_json:
        print_json({"file": str(file), "ok": True, "flow": spec.name, "problems": [], "notes": list(compiled.notes)})
        return
    parts = (
        (spec.sources, "source"),
        (spec.operators, "operator"),
        (spec.sinks, "sink"),
        (compiled.segments, "segment"),
    )
    counts = ", ".join(_count(things, what) for things, what in parts)
    console.print(Text.assemble(("✓ ", "bold green"), (spec.name, "bold"), f" is right: {counts}"))
    for note in compiled.notes:
        console.print(Text.assemble(("  note  ", "yellow"), note), soft_wrap=True)


@app.command()
def graph(
    file: FlowFile,
    as_json: AsJson = False,
    dot: Annotated[bool, typer.Option("--dot", help="Print the graph in Graphviz's DOT language.")] = False,
) -> None:
    """Draw a flow in the terminal: records run from top to bottom, dotted lines go through a topic."""
    if as_json and dot:
        raise typer.BadParameter("take one of --json and --dot")
    compiled = _load(file, as_json=as_json)
    if as_json:
        print_json(graph_values(compiled))
    elif dot:
        typer.echo(to_dot(compiled), nl=False)
    else:
        _draw(compiled)


app.command()(flow_run.run)


def _load(file: Path, *, as_json: bool) -> FlowGraph:
    try:
        return load_graph(file)
    except FlowError as error:
        if as_json:
            problems = [problem_values(problem) for problem in error.problems]
            print_json({"file": str(file), "ok": False, "problems": problems})
        else:
            errors.print(Text(str(error)), soft_wrap=True)
            total = f"{_count(error.problems, 'problem')} in {error.filename}"
            errors.print(Text(total, style="bold red"), soft_wrap=True)
        raise typer.Exit(ExitCode.FAILURE) from None


def _draw(compiled: FlowGraph) -> None:
    rows = draw(compiled)
    columns = zip(*((row.lanes, row.name, row.op) for row in rows), strict=True)
    lanes, names, ops = (max(len(cell) for cell in column) for column in columns)
    for row in rows:
        line = Text(f"{row.lanes:<{lanes}}  ", style="bold")
        line.append(f"{row.name:<{names}}  ", style=_style(row)).append(f"{row.op:<{ops}}  ", style="dim")
        line.append(row.text, style="not bold").rstrip()
        # On a terminal a long line is cut, so that the lanes stay whole; a pipe gets all of it.
        whole = not console.is_terminal
        console.print(line, no_wrap=True, overflow="ignore" if whole else "ellipsis", crop=not whole)
    console.print()
    for number, segment in enumerate(compiled.segments, start=1):
        count = "as many partitions as its topic" if segment.partitions is None else partition_count(segment.partitions)
        label = Text(f"segment {number}", style=_colour(number))
        console.print(
            label.append(f"  {segment.id}  {', '.join(segment.operators)}  ({count})", style="default"), soft_wrap=True
        )


def _style(row: Row) -> str:
    return "bold" if row.segment is None else _colour(row.segment)


def _colour(segment: int) -> str:
    return _SEGMENT_COLOURS[(segment - 1) % len(_SEGMENT_COLOURS)]


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"
