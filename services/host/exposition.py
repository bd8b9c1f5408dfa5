"""What Prometheus reads: the host's state and totals, in its text format."""

from services.host.reports import Reports
from services.process.exposition import Labels, metric


def exposition(reports: Reports, *, garbage: int) -> str:
    """All metrics of a host as text."""
    lines: list[str] = []
    lines += metric("host_registry_garbage_total", "counter", "Registry messages ignored", [({}, garbage)])
    if reports.host_row is not None:
        row = reports.host_row
        lines += metric("host_cpu_cores", "gauge", "Cores in use", [({}, row.cpu)])
        lines += metric("host_memory_bytes", "gauge", "Resident memory", [({}, row.memory_bytes)])
        lines += metric("host_loop_delay_ms_max", "gauge", "Longest delay of the loop", [({}, row.loop_delay_ms_max)])
    slots = sorted(reports.standings.items())
    lines += metric(
        "segment_lag",
        "gauge",
        "Input records not yet processed; missing while it is not known",
        [
            ({"segment": slot[0], "partition": slot[1]}, lag)
            for slot, _ in slots
            if (lag := reports.lag(slot)) is not None
        ],
    )
    lines += metric(
        "segment_state",
        "gauge",
        "1 for the state that a segment's partition is in",
        [({"segment": slot[0], "partition": slot[1], "state": each.state}, 1) for slot, each in slots],
    )
    for name, what in (("arrivals", "Records in"), ("outputs", "Records out"), ("dead_letters", "Dead letters")):
        totals: list[tuple[Labels, float]] = [
            ({"flow": flow, "operator": operator, "partition": partition}, counts[name])
            for (flow, operator, partition), counts in sorted(reports.totals.items())
        ]
        lines += metric(f"operator_{name}_total", "counter", what, totals)
    return "\n".join(lines) + "\n"
