"""`stigmergy flow`: check a flow file, draw it, try it. No broker is needed.

Exit codes: 0 the flow is right, 1 it has problems (all are shown), 2 the command itself was used wrongly.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from services.cli.flow_run import run
from topics.flow.describe import partition_count
from topics.flow.dot import to_dot
from topics.flow.drawing import Row, draw
from topics.flow.export import graph_values, problem_values
from topics.flow.file import load_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError, Problem

app = typer.Typer(help="Check, draw and try flow files; no broker needed.", no_args_is_help=True)
app.command()(run)

FlowFile = Annotated[Path, typer.Argument(help="The flow file (YAML).", exists=True, dir_okay=False, readable=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

_SEGMENT_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


@app.command()
def check(file: FlowFile, as_json: AsJson = False) -> None:
    """Say everything that is wrong with a flow file, or what the compiler makes of it."""
    graph = _load(file, as_json=as_json)
    if as_json:
        _print_json(
            {"file": str(file), "ok": True, "problems": [], "flow": graph.spec.name, "notes": list(graph.notes)}
        )
        return
    console = Console(highlight=False)
    counts = f"{_count(graph.spec.sources, 'source')}, {_count(graph.spec.operators, 'operator')}, "
    counts += f"{_count(graph.spec.sinks, 'sink')}, {_count(graph.segments, 'segment')}"
    console.print(Text.assemble(("✓ ", "bold green"), (graph.spec.name, "bold"), f" is right: {counts}"))
    for note in graph.notes:
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
        _print_json(graph_values(compiled))
    elif dot:
        typer.echo(to_dot(compiled), nl=False)
    else:
        _draw(compiled)


def _draw(compiled: FlowGraph) -> None:
    console = Console(highlight=False)
    rows = draw(compiled)
    lanes, names, ops = (
        max(len(cell) for cell in column) for column in zip(*((r.lanes, r.name, r.op) for r in rows), strict=True)
    )
    for row in rows:
        line = Text.assemble(
            (f"{row.lanes:<{lanes}}  ", "bold"),
            (f"{row.name:<{names}}  ", _style(row)),
            (f"{row.op:<{ops}}  ", "dim"),
            row.text,
        )
        line.rstrip()
        # On a terminal a long line is cut, so that the lanes stay whole; a pipe gets all of it.
        whole = not console.is_terminal
        console.print(line, no_wrap=True, overflow="ignore" if whole else "ellipsis", crop=not whole)
    console.print()
    for number, segment in enumerate(compiled.segments, start=1):
        partitions = (
            "as many partitions as its topic" if segment.partitions is None else partition_count(segment.partitions)
        )
        label = Text(f"segment {number}", style=_SEGMENT_COLOURS[(number - 1) % len(_SEGMENT_COLOURS)])
        console.print(
            Text.assemble(label, f"  {segment.id}  {', '.join(segment.operators)}  ({partitions})"), soft_wrap=True
        )


def _style(row: Row) -> str:
    if row.segment is None:
        return "bold"
    return _SEGMENT_COLOURS[(row.segment - 1) % len(_SEGMENT_COLOURS)]


def _load(file: Path, *, as_json: bool) -> FlowGraph:
    try:
        return load_graph(file)
    except FlowError as error:
        if as_json:
            problems = [problem_values(problem) for problem in error.problems]
            _print_json({"file": str(file), "ok": False, "problems": problems})
        else:
            _print_problems(error)
        raise typer.Exit(1) from None


def _print_problems(error: FlowError) -> None:
    console = Console(stderr=True, highlight=False)
    console.print(Text(str(error)), soft_wrap=True)
    console.print(Text(f"{_count(error.problems, 'problem')} in {error.filename}", style="bold red"), soft_wrap=True)


def _count(things: tuple[Problem, ...] | tuple[Any, ...], what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
