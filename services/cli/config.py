"""`stigmergy config`: every setting, its value, and where that came from."""

import os
from dataclasses import fields

import typer
from rich.text import Text

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
    width = max(len(setting.name) for setting in fields(Settings)) + 2
    for row in rows:
        value = "-" if row["value"] is None else str(row["value"])
        # Lines and no table: a path is copied whole, however narrow the terminal.
        console.print(Text.assemble((f"{row['setting']:<{width}}", "bold"), value), soft_wrap=True)
        console.print(Text(f"{'':<{width}}{row['help']} ({row['from']})", "dim"), soft_wrap=True)
    file = find_file(os.environ)
    told = f"\nFile: {file or 'none'}. A setting is also a variable, such as {PREFIX}BROKERS=3."
    console.print(Text(told, "dim"), soft_wrap=True)


def _shown(value: object) -> str | int | None:
    """As it is, without credentials."""
    return value if value is None or isinstance(value, int) else hide_in_text(str(value))
