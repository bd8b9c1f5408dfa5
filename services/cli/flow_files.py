"""Flow files that a command brings to a cluster."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from services.cli.exits import ExitCode
from services.cli.screen import errors
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError

FlowFile = Annotated[Path, typer.Argument(help="The flow file (YAML).", exists=True, dir_okay=False, readable=True)]


def read_flow_file(file: Path) -> tuple[str, FlowGraph]:
    """The file's text, and what it compiles to. Ends the command if anything is wrong with it, and shows all of it."""
    content = file.read_bytes()
    try:
        graph = parse_graph(content, filename=str(file))
    except FlowError as error:
        errors.print(Text(str(error)), soft_wrap=True)
        raise typer.Exit(ExitCode.FAILURE) from None
    return content.decode(), graph
