"""Square matrices of round trips, from files of several kinds, checked.

The format of a topology file: comma (or tab) separated numbers, row = from, column = to, round trips in
milliseconds. A first row and a first column of names, the same in the same order, are optional. Names may be numbers,
as libraries of tables write them: then the first cell is empty. The diagonal is ignored. An empty cell, a dash, nan or
0 is an unknown round trip: the way back stands in for it, or else the shortest way over other hosts. Anything else is
refused with the line and what to do.
"""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import floyd_warshall

LONGEST_MS = 1e6
"""A quarter of an hour: a longer round trip is a mistake of unit."""


class TopologyError(ValueError):
    """A topology file that can't be used; the message says where and what to do."""


@dataclass(frozen=True)
class RoundTrips:
    """Names and round trips in milliseconds; nothing is unknown any more."""

    names: tuple[str, ...]
    rtt_ms: NDArray[np.float64]

    def pick(self, places: Iterable[int]) -> "RoundTrips":
        """Only some of the hosts."""
        chosen = list(places)
        return RoundTrips(tuple(self.names[k] for k in chosen), self.rtt_ms[np.ix_(chosen, chosen)])


def parse_matrix(text: str, *, name: str, scale: float = 1.0, skip_columns: int = 0) -> RoundTrips:
    """Read a matrix; `scale` turns its unit into milliseconds, `skip_columns` drops columns after the names."""
    first_line = text.partition("\n")[0]
    delimiter = "\t" if "\t" in first_line else ","
    if delimiter not in first_line and any(other in first_line.strip() for other in "; "):
        raise TopologyError(f"{name}, line 1: no comma and no tab in it; separate the numbers by commas or tabs")
    lines = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(cell.strip() for cell in row)]
    if not lines:
        raise TopologyError(f"{name} is empty; give a square matrix of round trips in ms")
    named = not _is_number(lines[0][1] if len(lines[0]) > 1 else lines[0][0]) or _numbered(lines)
    names = [cell.strip() for cell in lines[0][1 + skip_columns :]] if named else []
    body = lines[1:] if named else lines
    first = 1 + skip_columns if named else 0
    if named and len(names) != len(body):
        raise TopologyError(f"{name}: line 1 names {len(names)} hosts, {len(body)} rows follow; give one row a host")
    if len(set(names)) < len(names):
        twice = next(host for host in names if names.count(host) > 1)
        raise TopologyError(f"{name}: {twice!r} is named twice; give each host a name of its own")
    values = np.full((len(body), len(body)), math.nan)
    for at, row in enumerate(body):
        if named and row[0].strip() != names[at]:
            raise TopologyError(
                f"{name}, line {at + 2}: the row is of {row[0].strip()!r}, the column of that number of {names[at]!r}; "
                "give rows and columns the same names in the same order"
            )
        cells = row[first:]
        while len(cells) > len(body) and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(body):
            raise TopologyError(
                f"{name}, line {at + 1 + int(named)}: {len(cells)} numbers, but there are {len(body)} rows; "
                "a round-trip matrix is square"
            )
        for to, cell in enumerate(cells):
            values[at, to] = _cell(cell, name, at + 1 + int(named), to + 1) * scale
    return RoundTrips(tuple(names) or tuple(f"h{k}" for k in range(len(body))), complete(values, name))


def _numbered(lines: list[list[str]]) -> bool:
    """Whether hosts are named by numbers: an empty corner, and the same different names above and to the left.

    A symmetric matrix without names whose diagonal is left empty looks alike, up to the rest of its diagonal. Names
    that count from 0 decide.
    """
    above, left = ([cell.strip() for cell in cells] for cells in (lines[0], [row[0] for row in lines]))
    if above[0] or above != left or len(set(above)) < len(above):
        return False
    counted = above[1:] == [str(k) for k in range(len(above) - 1)]
    return counted or any(row[at].strip() for at, row in enumerate(lines[1:], start=1) if at < len(row))


def complete(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Fill what is unknown: from the way back, else by the shortest way over others."""
    filled = np.where(np.isnan(values), values.T, values)
    np.fill_diagonal(filled, 0.0)
    if np.isnan(filled).any():
        shortest = floyd_warshall(np.where(np.isnan(filled), np.inf, filled))
        filled = np.where(np.isnan(filled), shortest, filled)
    if np.isinf(filled).any():
        raise TopologyError(
            f"{name}: some hosts have no known way to others (empty cells and 0 are unknown); "
            "remove them or add their round trips"
        )
    return np.maximum(filled, 0.01) * (1 - np.eye(len(filled)))


def _cell(cell: str, name: str, line: int, column: int) -> float:
    text = cell.strip()
    if not text or text in ("-", "nan", "NaN"):
        return math.nan
    if not _is_number(text):
        raise TopologyError(f"{name}, line {line}, column {column}: {text!r} is no number; give milliseconds")
    value = float(text)
    if value < 0:
        raise TopologyError(f"{name}, line {line}, column {column}: {value} ms; a round trip can't be negative")
    if value > LONGEST_MS:
        raise TopologyError(
            f"{name}, line {line}, column {column}: {value} ms; give milliseconds, up to {LONGEST_MS:g}"
        )
    return value if value > 0 else math.nan


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True
