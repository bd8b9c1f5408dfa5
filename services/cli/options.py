"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Folder of the embedded stack's data.", file_okay=False)
]
PortOption = Annotated[
    int | None, typer.Option(min=1, max=65_535, help="Port of /health and /metrics.", show_default="none")
]
SilentOption = Annotated[
    float | None,
    typer.Option("--silent", help="Seconds without a report after which a host is lost.", show_default="5"),
]
