"""Real traces as rates: how much more or less than usual arrives, step by step."""

import csv
import gzip
from collections.abc import Sequence
from statistics import fmean

from services.lab.data import data_file

TRACES = ("worldcup98", "nab/elb_request_count_8c0756", "nab/Twitter_volume_AAPL", "nab/nyc_taxi", "azure-code")


def rate_factors(values: Sequence[float], *, steps: int, start: int = 0) -> list[float]:
    """A stretch of a trace, as factors of its own mean, each between 0.1 and 10."""
    chosen = [values[(start + step) % len(values)] for step in range(steps)]
    usual = fmean(chosen) or 1.0
    return [min(10.0, max(0.1, value / usual)) for value in chosen]


def real_trace(name: str) -> Sequence[float]:
    """One of TRACES, by name."""
    if name == "worldcup98":
        return _column(gzip.decompress(data_file("traces", "worldcup98_requests_per_min.csv.gz").read_bytes()).decode())
    if name == "azure-code":
        text = gzip.decompress(data_file("traces", "AzureLLMInferenceTrace_code.csv.gz").read_bytes()).decode()
        return _per_minute(text)
    return _column(data_file("traces", f"{name}.csv").read_text())


def _column(text: str) -> list[float]:
    """The last column that is a number."""
    found = []
    for row in csv.reader(text.splitlines()):
        try:
            found.append(float(row[-1]))
        except (ValueError, IndexError):
            continue
    return found


def _per_minute(text: str) -> list[float]:
    """Events with a time in their first column, counted by minute."""
    counts: dict[str, int] = {}
    for row in csv.reader(text.splitlines()):
        if row and row[0][:2] == "20":
            counts[row[0][:16]] = counts.get(row[0][:16], 0) + 1
    return [float(count) for _, count in sorted(counts.items())]
