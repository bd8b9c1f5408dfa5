"""Targets: what the rows of an experiment must reach. The page of evidence says of each whether they do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Protocol

from services.lab.results import Row


class Outcome(Enum):
    """Whether a target is reached."""

    MET = "met"
    MISSED = "**missed**"
    NOT_MEASURED = "not measured"


class Target(Protocol):
    """Something that the rows must show."""

    @property
    def says(self) -> str: ...

    def found(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows that it is about; none if they were not measured."""
        ...

    def met(self, rows: Sequence[Row]) -> bool:
        """Whether those rows reach it."""
        ...


@dataclass(frozen=True, slots=True)
class AtMost:
    """A row is no larger than this."""

    measure: str
    bound: float
    baseline: str | None = None
    """Against what, where several rows have the name."""
    surely: bool = False
    """Whether all of the confidence interval has to be below, and not only as low."""

    @property
    def says(self) -> str:
        against = f", against {self.baseline}" if self.baseline else ""
        bound = f"below {self.bound:g} with its whole interval" if self.surely else f"at most {self.bound:g}"
        return f"{self.measure}{against}: {bound}"

    def found(self, rows: Sequence[Row]) -> Sequence[Row]:
        return [row for row in rows if row.measure == self.measure and self.baseline in (None, row.baseline)]

    def met(self, rows: Sequence[Row]) -> bool:
        return all(row.spread[1] < self.bound if self.surely else row.value <= self.bound for row in rows)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A row is no smaller than this."""

    measure: str
    bound: float

    @property
    def says(self) -> str:
        return f"{self.measure}: at least {self.bound:g}"

    def found(self, rows: Sequence[Row]) -> Sequence[Row]:
        return [row for row in rows if row.measure == self.measure]

    def met(self, rows: Sequence[Row]) -> bool:
        return all(row.value >= self.bound for row in rows)


@dataclass(frozen=True, slots=True)
class InOrder:
    """Rows that grow from one to the next, or fall."""

    measures: tuple[str, ...]
    rising: bool

    @property
    def says(self) -> str:
        return f"from {self.measures[0]} to {self.measures[-1]}: {'rising' if self.rising else 'falling'}"

    def found(self, rows: Sequence[Row]) -> Sequence[Row]:
        named = {row.measure: row for row in rows}
        return [named[measure] for measure in self.measures] if named.keys() >= set(self.measures) else []

    def met(self, rows: Sequence[Row]) -> bool:
        steps = [after.value - before.value for before, after in pairwise(rows)]
        return all(step >= 0 if self.rising else step <= 0 for step in steps)


def judge(target: Target, rows: Sequence[Row]) -> Outcome:
    """Whether the rows of a run reach a target."""
    found = target.found(rows)
    if not found or _unmeasured(target, found):
        return Outcome.NOT_MEASURED
    return Outcome.MET if target.met(found) else Outcome.MISSED


def verdict(target: Target, rows: Sequence[Row]) -> str:
    """The same in a line, with the rows that it rests on."""
    found, outcome = target.found(rows), judge(target, rows)
    if outcome is Outcome.NOT_MEASURED:
        return "; ".join([f"{outcome.value}: {target.says}", *_unmeasured(target, found)])
    values = ", ".join(f"{row.value:.4g}" + (f" up to {row.spread[1]:.4g}" if _surely(target) else "") for row in found)
    return f"{outcome.value}: {target.says}; it is {values}"


def _unmeasured(target: Target, found: Sequence[Row]) -> list[str]:
    """Why rows that are there tell nothing."""
    why = [
        f"{row.measure} is no number: no seed had anything to take it of"
        for row in found
        if not math.isfinite(row.value)
    ]
    return why or [f"one seed has no interval; it is {row.value:.4g}" for row in found if _single(target, row)]


def _single(target: Target, row: Row) -> bool:
    return _surely(target) and row.repetitions < 2


def _surely(target: Target) -> bool:
    return isinstance(target, AtMost) and target.surely
