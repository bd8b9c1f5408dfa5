"""Files that a long command will write: what can't be written is told before the work, not after it."""

import os
from pathlib import Path
from typing import NoReturn

import typer

from services.cli.exits import ExitCode
from services.cli.screen import show_error


class NotWritableError(OSError):
    """A file that can't be written; the message says why and what to do."""


def require_writable(json_file: Path | None, plot: Path | None) -> None:
    """Raises NotWritableError for a file that can't be written, NoPlotLibraryError if a plot can't be drawn."""
    for path in (json_file, plot):
        if path is not None:
            _require(path)
    if plot is not None:
        from services.lab.plots import can_draw, require_plots

        require_plots()
        if not can_draw(plot):
            raise NotWritableError(f"nothing draws a file like {plot}; end its name in .png, .svg or .pdf")


def refuse(error: Exception) -> NoReturn:
    """Errors of use are told as `what; remedy`."""
    what, _, remedy = str(error).partition("; ")
    show_error(what, remedy)
    raise typer.Exit(ExitCode.USAGE) from None


def _require(path: Path) -> None:
    if path.is_dir():
        raise NotWritableError(f"{path} is a folder; give a file to write")
    if not path.parent.is_dir():
        raise NotWritableError(f"there is no folder {path.parent}; make it, or write elsewhere")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise NotWritableError(f"{path} may not be written; change its rights, or write elsewhere")
