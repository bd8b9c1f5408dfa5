"""`stigmergy version`."""

import importlib.metadata
import json
import platform

import typer

from services.cli.options import AsJson

app = typer.Typer()


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    found = importlib.metadata.version("stigmergy")
    if as_json:
        typer.echo(json.dumps({"version": found, "python": platform.python_version()}))
    else:
        typer.echo(f"stigmergy {found} (Python {platform.python_version()})")
