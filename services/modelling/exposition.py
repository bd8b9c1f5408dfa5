"""What Prometheus reads of the modelling service."""

from typing import Any

import psutil

from services.modelling.pipeline import Pipeline, clock_ms
from services.process.exposition import metric


def exposition(pipeline: Pipeline) -> str:
    """All metrics as text."""
    figures, modeller = pipeline.figures, pipeline.modeller
    lines: list[str] = []
    lines += metric("models_batches_total", "counter", "Micro-batches done", [({}, figures.batches)])
    lines += metric("models_made_total", "counter", "Models written", [({}, figures.models)])
    lines += metric("models_rejected_total", "counter", "Metrics rows set aside", [({}, figures.rejected)])
    lines += metric("models_astray_total", "counter", "Rows of wrong clocks", [({}, modeller.totals.astray)])
    lines += metric("models_query_failures_total", "counter", "Queries that began again", [({}, figures.failures)])
    skipped = "Metrics rows that nobody looked at, since they came long before a query began anew"
    lines += metric("models_skipped_rows_total", "counter", skipped, [({}, figures.skipped)])
    late = "Rows that came too late; those of a seat and second in one batch are one"
    lines += metric("models_late_rows_total", "counter", late, [({}, figures.late)])
    rows = [({"kind": kind}, count) for kind, count in sorted(modeller.totals.rows.items())]
    lines += metric("models_rows_total", "counter", "Metrics rows of closed seconds", rows)
    parts = {"sums": figures.taken_s, "fits": figures.fitted_s, "writing": figures.published_s}
    lines += metric(
        "models_batch_part_seconds", "gauge", "Time of the last batch", [({"part": p}, s) for p, s in parts.items()]
    )
    if modeller.closed:
        behind_s = clock_ms() / 1_000 - modeller.closed - 1
        lines += metric("models_behind_seconds", "gauge", "Age of the last closed second", [({}, round(behind_s, 3))])
    seats = [({"kind": kind}, ring.size) for kind, ring in sorted(modeller.rings.items())]
    lines += metric("models_seats", "gauge", "Operators on hosts, hosts and links that are followed", seats)
    if pipeline.mirror is not None:
        failures = pipeline.mirror.failures
        lines += metric("models_mirror_failures_total", "counter", "Not written to Redis", [({}, failures)])
    lines += metric("models_memory_bytes", "gauge", "Resident memory with Spark's", [({}, memory_bytes())])
    return "\n".join([*lines, *_progress(figures.progress)]) + "\n"


def _progress(progress: dict[str, Any]) -> list[str]:
    """Spark's own words on the last batch."""
    if not progress:
        return []
    lines: list[str] = []
    took_s = progress.get("batchDuration", 0) / 1_000
    comes, can = _number(progress, "inputRowsPerSecond"), _number(progress, "processedRowsPerSecond")
    lines += metric("models_batch_seconds", "gauge", "Time of the last micro-batch", [({}, took_s)])
    lines += metric("models_input_rows_per_second", "gauge", "Input rate", [({}, comes)])
    lines += metric("models_processed_rows_per_second", "gauge", "Rate that could be worked off", [({}, can)])
    lag = sum(float((source.get("metrics") or {}).get("avgOffsetsBehindLatest", 0)) for source in progress["sources"])
    lines += metric("models_lag", "gauge", "Metrics rows not yet read, a partition's mean", [({}, lag)])
    states = progress.get("stateOperators") or []
    kept = sum(each["numRowsTotal"] for each in states)
    return lines + metric("models_state_rows", "gauge", "Rows of open windows", [({}, kept)])


def _number(progress: dict[str, Any], name: str) -> float:
    value = progress.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def memory_bytes() -> int:
    """Of this process and the JVM that it started."""
    own = psutil.Process()
    total = 0
    for process in [own, *own.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total
