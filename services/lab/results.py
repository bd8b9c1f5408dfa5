"""Results: what every bench and evaluate command writes with `--json FILE` (DESIGN section 11).

One object: the command, the version, the commit if the code is a checkout, the machine, the seeds and the rows. Rows
carry no verdict: the reader judges.
"""

import math
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Self

import msgspec

from services.lab.checkout import commit


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One measure. `baseline` says what it is compared with; `spread` is (low, high) over the repetitions."""

    measure: str
    value: float
    unit: str
    baseline: str | None = None
    spread: tuple[float, float]
    repetitions: int

    @classmethod
    def of(cls, measure: str, samples: Sequence[float], unit: str, *, baseline: str | None = None) -> Self:
        """The median of several repetitions, with the smallest and the largest."""
        return cls(
            measure=measure,
            value=median(samples),
            unit=unit,
            baseline=baseline,
            spread=(min(samples), max(samples)),
            repetitions=len(samples),
        )

    @classmethod
    def quantile(cls, measure: str, samples: Sequence[float], share: float, unit: str) -> Self:
        """What this share of several repetitions stays below, between two of them in proportion."""
        ordered = sorted(samples)
        place = share * (len(ordered) - 1)
        below, above = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
        return cls(
            measure=measure,
            value=below + (above - below) * (place - int(place)),
            unit=unit,
            spread=(ordered[0], ordered[-1]),
            repetitions=len(ordered),
        )


class Results(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of one command."""

    command: str
    version: str
    commit: str | None = None
    machine: dict[str, str | int]
    seeds: list[int]
    rows: list[Row]


def results(command: str, rows: Sequence[Row], *, seeds: Sequence[int], began_at: str | None = None) -> Results:
    """Rows together with where and how they were measured; `began_at`: the commit when a long run began."""
    machine: dict[str, str | int] = {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
    }
    return Results(
        command=command,
        version=version("stigmergy"),
        commit=began_at or commit(),
        machine=machine,
        seeds=list(seeds),
        rows=list(rows),
    )


def write(found: Results, path: Path) -> None:
    """Write a result file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


def read(path: Path) -> Results:
    """Read a result file. What is not finite is null in JSON, and nan again here."""
    raw = msgspec.json.decode(path.read_bytes())
    for row in raw["rows"]:
        row["value"], *row["spread"] = (math.nan if each is None else each for each in (row["value"], *row["spread"]))
    return msgspec.convert(raw, Results)


def _processor() -> str:
    """The name of the processor, which Linux tells in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
