"""Files that a long command will write: what can't be written is told before the work, not after it."""

import os
from pathlib import Path


class NotWritableError(OSError):
    """A file that can't be written; the message says why and what to do."""


def require_writable(json_file: Path | None, plot: Path | None) -> None:
    """Raises NotWritableError for a file that can't be written, NoPlotLibraryError if a plot can't be drawn."""
    for path in (json_file, plot):
        if path is not None:
            _require(path)
    if plot is not None:
        from services.lab.plots import require_plots

        require_plots()


def _require(path: Path) -> None:
    if path.is_dir():
        raise NotWritableError(f"{path} is a folder; give a file to write")
    if not path.parent.is_dir():
        raise NotWritableError(f"there is no folder {path.parent}; make it, or write elsewhere")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise NotWritableError(f"{path} may not be written; change its rights, or write elsewhere")
