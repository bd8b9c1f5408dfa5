"""What Prometheus reads: the host's state and totals, in its text format."""

from collections.abc import Callable

from services.host.reports import Reports
from services.host.totals import OperatorTotals, TaskTotals
from services.process.exposition import Labels, metric

# Mean and variation of a time over any span: two or three of these, each taken at both ends of it.
OF_OPERATORS: tuple[tuple[str, str, Callable[[OperatorTotals], float]], ...] = (
    ("arrivals", "Records in", lambda each: each.work.arrivals),
    ("outputs", "Records out", lambda each: each.work.outputs),
    ("late", "Late records set aside", lambda each: each.work.late),
    ("dropped", "Late or unreadable records that another segment sets aside", lambda each: each.work.dropped),
    ("dead_letters", "Dead letters", lambda each: each.work.dead_letters),
    ("served", "Records whose service was timed", lambda each: each.service_us.count),
    ("service_us", "What they took", lambda each: each.service_us.total),
    ("service_us_sq", "The squares of what they took", lambda each: each.service_us.squares),
    ("gaps", "Times between arrivals", lambda each: each.gaps_us.count),
    ("gaps_us", "How long those were", lambda each: each.gaps_us.total),
    ("gaps_us_sq", "The squares of how long those were", lambda each: each.gaps_us.squares),
)
OF_TASKS: tuple[tuple[str, str, Callable[[TaskTotals], float]], ...] = (
    ("waited", "Records, or blocks of an edge, that came to be processed", lambda each: each.wait_us.count),
    ("wait_us", "How long they had waited", lambda each: each.wait_us.total),
    ("timed", "Records whose latency was sampled", lambda each: each.latency_ms.count),
    ("latency_ms", "How long after the source their results were there", lambda each: each.latency_ms.total),
    ("bytes_in", "Bytes of values read", lambda each: each.bytes_in),
    ("bytes_out", "Bytes written", lambda each: each.bytes_out),
)


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
    tasks: list[tuple[Labels, TaskTotals]] = [
        ({"segment": segment, "partition": partition}, totals)
        for (segment, partition), totals in sorted(reports.totals.tasks.items(), key=lambda item: item[0])
    ]
    for name, what, task_sum in OF_TASKS:
        lines += metric(f"segment_{name}_total", "counter", what, [(labels, task_sum(each)) for labels, each in tasks])
    sizes: list[tuple[Labels, float]] = [
        ({"flow": flow, "operator": operator, "partition": partition}, size)
        for (flow, operator, partition), size in sorted(reports.state_bytes().items())
    ]
    lines += metric("operator_state_bytes", "gauge", "What an operator remembers, about", sizes)
    operators: list[tuple[Labels, OperatorTotals]] = [
        ({"flow": flow, "operator": operator, "partition": partition}, totals)
        for (flow, operator, partition), totals in sorted(reports.totals.operators.items(), key=lambda item: item[0])
    ]
    for name, what, operator_sum in OF_OPERATORS:
        samples = [(labels, operator_sum(each)) for labels, each in operators]
        lines += metric(f"operator_{name}_total", "counter", what, samples)
    return "\n".join(lines) + "\n"
