"""Real series for forecasts: CSV files of `timestamp,value`, gzipped or not, one value a step, in order.

A user's folder holds such files only. Our own data folder has traces of single events as well; these are counted by
the second and by ten seconds.
"""

import csv
import gzip
import math
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.lab.data import data_file

Series = NDArray[np.float64]

POINTS_MIN = 200
"""Shorter ones say little: experts are scored over about as many steps."""


class SeriesError(ValueError):
    """A file that is not a series; says which line and what was expected."""


def read_folder(folder: Path) -> dict[str, Series]:
    """All series of a user's folder by file name; files that are none are left out, as `remarks` says."""
    found, why = _read(folder)
    if not found:
        raise SeriesError("; ".join([f"{folder}: no series in it; give a folder with files of timestamp,value", *why]))
    return found


def remarks(folder: Path) -> list[str]:
    """What a user should know of a folder: which files are left out."""
    return [f"{each}; left out" for each in _read(folder)[1]]


def _read(folder: Path) -> tuple[dict[str, Series], list[str]]:
    """Series by name, and why other files are none."""
    found, why = {}, []
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        try:
            found[path.name.removesuffix(".gz").removesuffix(".csv")] = read_series(path)
        except SeriesError as error:
            why.append(str(error))
    return found, why


def read_series(path: Path) -> Series:
    """The values of one file. A first line that is no number is a heading; later ones are errors."""
    try:
        found = _values(path)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise SeriesError(f"{path} can't be read ({error}); give timestamp,value") from error
    if len(found) < POINTS_MIN:
        raise SeriesError(f"{path}: {len(found)} values; a forecast needs at least {POINTS_MIN} to be judged by")
    return np.array(found)


def _values(path: Path) -> list[float]:
    found: list[float] = []
    for number, row in enumerate(_lines(path), start=1):
        try:
            value = float(row[1])
        except (ValueError, IndexError):
            if number == 1:
                continue
            text = ",".join(row)[:60]
            raise SeriesError(f"{path}, line {number}: found {text!r}; give timestamp,value") from None
        if not math.isfinite(value) or value < 0:
            raise SeriesError(f"{path}, line {number}: {row[1]} is no rate; give numbers of 0 or more")
        found.append(value)
    return found


def own_series() -> dict[str, Series]:
    """Those of the data folder."""
    nab = data_file("traces", "nab")
    found = {path.stem: read_series(path) for path in sorted(nab.glob("*.csv"))}
    found["worldcup98"] = read_series(data_file("traces", "worldcup98_requests_per_min.csv.gz"))
    for kind in ("code", "conv"):
        times_s = event_times_s(data_file("traces", f"AzureLLMInferenceTrace_{kind}.csv.gz"), column=0)
        for width_s in (1, 10):
            found[f"azure {kind}, {width_s} s"] = np.bincount((times_s // width_s).astype(int)).astype(float)
    return found


def event_times_s(path: Path, *, column: int) -> Series:
    """When the events of a file happened, in seconds since the first one, in order."""
    times: list[float] = []
    for row in _lines(path):
        if row[column][:1].isdigit():
            # Seven digits after the point are more than Python reads.
            times.append(datetime.fromisoformat(row[column][:26]).timestamp())
    return np.sort(np.array(times)) - min(times)


def _lines(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
        yield from csv.reader(text)
