"""The folder of real data: where it is, and what to do if it is not there."""

import os
from pathlib import Path


class MissingDataError(FileNotFoundError):
    """A file of real data is not there; the message says where it was looked for and what to set."""


def data_folder() -> Path:
    """`STIGMERGY_DATA`, or ../shared/data beside the project."""
    chosen = os.environ.get("STIGMERGY_DATA")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[3] / "shared" / "data"


def data_file(*parts: str) -> Path:
    """A file of the data folder."""
    path = data_folder().joinpath(*parts)
    if not path.exists():
        raise MissingDataError(
            f"no {'/'.join(parts)} in {data_folder()}; set STIGMERGY_DATA to the folder that has it "
            "(its PROVENANCE.md says where the data comes from)"
        )
    return path
