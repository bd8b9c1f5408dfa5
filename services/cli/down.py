"""`stigmergy down`: stops a stack, from any terminal; with --wipe removes its data too."""

from typing import Annotated

import typer

from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json, show_error
from services.embedded.home import Home
from services.embedded.remote import stop
from services.settings import load_settings

app = typer.Typer()


@app.command()
def down(
    home: HomeOption = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Remove all data too: topics, records, state.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before removing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the stack; its data stays for the next `up`, unless --wipe removes it."""
    place = Home(load_settings({"home": home}).settings.home)
    if wipe and not yes and not _confirmed(place):
        show_error("nothing was stopped or removed", "say yes, or give --yes")
        raise typer.Exit(ExitCode.FAILURE)
    with busy("stopping"):
        stopped = stop(place)
        removed = place.wipe() if wipe else False
    if as_json:
        print_json({"home": str(place.path), "stopped": stopped, "removed": removed})
        return
    console.print(f"Stopped the stack in {place.path}." if stopped else f"Nothing ran in {place.path}.")
    if wipe:
        console.print(f"Removed its data from {place.path}." if removed else "There was no data to remove.")


def _confirmed(place: Home) -> bool:
    try:
        return typer.confirm(f"Remove all topics, records and state in {place.path}?", err=True)
    except typer.Abort:
        return False
