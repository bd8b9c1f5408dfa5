"""`stigmergy config`: every setting, its value, and where that came from."""

import os
from dataclasses import fields

import typer
from rich.table import Table

from services.cli.options import AsJson
from services.cli.screen import console, print_json
from services.logs import hide_in_text
from services.settings import PREFIX, Settings, find_file, load_settings

app = typer.Typer()


@app.command()
def config(as_json: AsJson = False) -> None:
    """Show every setting, its value, and where it came from: file, environment or default."""
    loaded = load_settings()
    rows = [
        {
            "setting": setting.name,
            "value": _shown(getattr(loaded.settings, setting.name)),
            "from": loaded.origins[setting.name],
            "variable": PREFIX + setting.name.upper(),
            "help": setting.metadata["help"],
        }
        for setting in fields(Settings)
    ]
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("setting", "value", "from", "help"):
        table.add_column(column, overflow="fold")
    for row in rows:
        value = "-" if row["value"] is None else str(row["value"])
        table.add_row(row["setting"], value, row["from"], f"[dim]{row['help']}[/dim]")
    console.print(table)
    file = find_file(os.environ)
    console.print(f"\n[dim]File: {file or 'none'}. A setting is also a variable, such as {PREFIX}BROKERS=3.[/dim]")


def _shown(value: object) -> str | int | None:
    """As it is, without credentials."""
    return value if value is None or isinstance(value, int) else hide_in_text(str(value))
