"""Square matrices of round trips, from files of several kinds, checked.

The format of a topology file: comma (or tab) separated numbers, row = from, column = to, round trips in
milliseconds. Names are optional: in a first row, or in a first row and a first column, the same in the same order. They
may be numbers, as libraries of tables write them. The diagonal is ignored. An empty cell, a dash, NA, NaN, inf or -1 is
an unknown round trip: the way back stands in for it, or else the shortest way over other hosts. So is a 0, unless the
way back is 0 too: those two hosts are together. Anything else is refused with the line and what to do.
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
LEAST_MS = 0.01
"""Between hosts that are together."""
_UNKNOWN = frozenset({"", "-", "na", "n/a"})
"""How files say that nobody measured a pair, in small letters; nan, inf and -1 are numbers that say it too."""
_Line = tuple[int, list[str]]
"""Its number in the file, and its cells."""


class TopologyError(ValueError):
    """A topology file that can't be used; the message says where and what to do."""


@dataclass(frozen=True)
class RoundTrips:
    """Names and round trips in milliseconds; nothing is unknown any more."""

    names: tuple[str, ...]
    rtt_ms: NDArray[np.float64]
    unknown_pairs: int = 0
    """Pairs of hosts that the file tells nothing of in either direction."""
    together_pairs: int = 0
    """Pairs that are 0 ms apart in both."""

    @property
    def pairs(self) -> int:
        """Of all hosts."""
        return len(self.names) * (len(self.names) - 1) // 2

    def pick(self, places: Iterable[int]) -> "RoundTrips":
        """Only some of the hosts."""
        chosen = list(places)
        return RoundTrips(tuple(self.names[k] for k in chosen), self.rtt_ms[np.ix_(chosen, chosen)])


def parse_matrix(
    text: str, *, name: str, scale: float = 1.0, skip_columns: int = 0, zero_is_unknown: bool = False
) -> RoundTrips:
    """Read a matrix; `scale` turns its unit into milliseconds, `skip_columns` drops columns after the names.

    `zero_is_unknown`: also where it stands in both directions.
    """
    lines = _lines(text, name, skip_columns)
    names, body, first = _parted(lines, skip_columns)
    or_numbers = _or_numbers(lines[0])
    _check_names(names, body, name, or_numbers)
    values = np.full((len(body), len(body)), math.nan)
    for at, (line, row) in enumerate(body):
        if first and row[0] != names[at]:
            raise TopologyError(
                f"{name}, line {line}: the row is of {row[0]!r}, the column of that number of {names[at]!r}; "
                f"give rows and columns the same names in the same order{or_numbers}"
            )
        cells = _trimmed(row[first:], len(body))
        if len(cells) != len(body):
            raise TopologyError(
                f"{name}, line {line}: {len(cells)} numbers, but there are {len(body)} rows; "
                "a round-trip matrix is square"
            )
        for to, cell in enumerate(cells):
            values[at, to] = _cell(cell, name, line, to + 1) * scale
    hosts = tuple(names) or tuple(f"h{k}" for k in range(len(body)))
    return complete(hosts, values, name, zero_is_unknown=zero_is_unknown)


def _lines(text: str, name: str, skip_columns: int) -> list[_Line]:
    """The lines that are not empty, without cells at the end that a comma too many makes."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = "\t" if "\t" in first_line else ","
    if delimiter not in first_line and any(other in first_line.strip() for other in "; "):
        raise TopologyError(f"{name}, line 1: no comma and no tab in it; separate the numbers by commas or tabs")
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(cell.strip() for cell in row)]
    if not lines:
        raise TopologyError(f"{name} is empty; give a square matrix of round trips in ms")
    return [(line, _trimmed(row, len(lines) + skip_columns)) for line, row in lines]


def _parted(lines: list[_Line], skip_columns: int) -> tuple[list[str], list[_Line], int]:
    """Names if the file has any, the lines with numbers, and the column in which the numbers begin."""
    (_, head), body = lines[0], lines[1:]
    hosts, left = len(body), [row[0] for _, row in body]
    beside = _trimmed(head[1 + skip_columns :], hosts)
    if _has_numbers_for_names(lines):
        return beside, body, 1
    if all(map(_is_value, head[1:])) and (_is_value(head[0]) or beside != left):
        return (head, body, 0) if _is_bare_head(head, body) else ([], lines, 0)
    above = _trimmed(head, hosts)
    if beside != left and len(above) == hosts:
        if above == left:
            return above, body, 1  # no cell above the first column, as R writes it
        if all(len(_trimmed(row, hosts)) == hosts for _, row in body):
            return above, body, 0  # no first column
    return beside, body, 1 + skip_columns


def _has_numbers_for_names(lines: list[_Line]) -> bool:
    """Whether hosts are named by numbers: an empty corner, and the same different names above and to the left.

    A symmetric matrix without names whose diagonal is left empty looks alike, up to the rest of its diagonal. Names
    that count from 0 decide.
    """
    above, left = lines[0][1], [row[0] for _, row in lines]
    if above[0] or above != left or len(set(above)) < len(above):
        return False
    counted = above[1:] == [str(k) for k in range(len(above) - 1)]
    return counted or any(row[at] for at, (_, row) in enumerate(lines[1:], start=1) if at < len(row))


def _is_bare_head(head: list[str], body: list[_Line]) -> bool:
    """Whether a row of numbers names the hosts of a square below it, whose diagonal then is 0 or empty."""
    if len(set(head)) < len(head) or any(len(row) != len(head) for _, row in body) or len(body) != len(head):
        return False
    return all(row[at] in _UNKNOWN or (_is_value(row[at]) and float(row[at]) == 0) for at, (_, row) in enumerate(body))


def _trimmed(cells: list[str], most: int) -> list[str]:
    """Without empty cells at the end where there are more than that."""
    width = len(cells)
    while width > most and not cells[width - 1]:
        width -= 1
    return cells[:width]


def _or_numbers(head: _Line) -> str:
    """The other remedy where a first line was taken for names: a cell among its numbers may be a slip."""
    line, cells = head
    slips = [cell for cell in cells if not _is_value(cell)]
    if not slips or len(slips) == len([cell for cell in cells if cell]):
        return ""
    return f", or milliseconds instead of {slips[0]!r} if line {line} has numbers and no names"


def _check_names(names: list[str], body: list[_Line], name: str, or_numbers: str) -> None:
    if not names:
        return
    if len(names) != len(body):
        raise TopologyError(
            f"{name}: line 1 names {len(names)} hosts, {len(body)} rows follow; give one row a host{or_numbers}"
        )
    if "" in names:
        raise TopologyError(f"{name}, line 1: host {names.index('') + 1} has an empty name; give each host a name")
    if len(set(names)) < len(names):
        twice = next(host for host in names if names.count(host) > 1)
        raise TopologyError(f"{name}: {twice!r} is named twice; give each host a name of its own")


def complete(
    names: tuple[str, ...], values: NDArray[np.float64], name: str, *, zero_is_unknown: bool = False
) -> RoundTrips:
    """Fill what is unknown: from the way back, else by the shortest way over others."""
    apart = ~np.eye(len(values), dtype=bool)
    together = apart & (values == 0) & (values.T == 0) & (not zero_is_unknown)
    known = np.where(together, LEAST_MS, np.where(values == 0, math.nan, values))
    filled = np.where(np.isnan(known), known.T, known)
    np.fill_diagonal(filled, 0.0)
    unknown = np.isnan(filled)
    if unknown.any():
        shortest = floyd_warshall(np.where(unknown, np.inf, filled))
        filled = np.where(unknown, shortest, filled)
    if np.isinf(filled).any():
        raise TopologyError(
            f"{name}: some hosts have no known way to others (empty cells, -1 and a single 0 are unknown); "
            "remove them or add their round trips"
        )
    return RoundTrips(names, np.maximum(filled, LEAST_MS) * apart, int(unknown.sum()) // 2, int(together.sum()) // 2)


def _cell(text: str, name: str, line: int, column: int) -> float:
    """In milliseconds; nan where it is unknown."""
    if text.lower() in _UNKNOWN:
        return math.nan
    if not _is_value(text):
        raise TopologyError(f"{name}, line {line}, column {column}: {text!r} is no number; give milliseconds")
    value = float(text)
    if value in (-1, math.inf):
        return math.nan
    if value < 0:
        raise TopologyError(f"{name}, line {line}, column {column}: {value} ms; a round trip can't be negative")
    if value > LONGEST_MS:
        raise TopologyError(
            f"{name}, line {line}, column {column}: {value} ms; give milliseconds, up to {LONGEST_MS:g}"
        )
    return value


def _is_value(text: str) -> bool:
    """Whether a cell may be a round trip, known or not."""
    try:
        float(text)
    except ValueError:
        return text.lower() in _UNKNOWN
    return True
