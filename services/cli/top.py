"""`stigmergy top`: live rates, waits, lag and state of every operator and host, from the metrics topics."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer
from confluent_kafka import Consumer, KafkaError, TopicPartition
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, Cluster, cluster_of
from services.cli.flows import look_at_flows, trouble_lines
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.cli.tally import WINDOW_S, HostLine, OperatorLine, Tally
from services.registry.changes import flow_of
from services.registry.liveness import next_report_ms
from services.registry.snapshot import TIMEOUT_S, offsets_since, read_registry, reader
from services.settings import SILENT_S
from topics import catalogue
from topics.errors import MessageError
from topics.topic import Topic

app = typer.Typer()

TOPICS: dict[str, Topic[Any]] = {topic.name: topic for topic in (catalogue.METRICS_OPERATORS, catalogue.METRICS_HOSTS)}
WIDTH = 160
REFRESH_S = 0.5
TROUBLE_EVERY_S = 5.0
SETTLE_S = 1.5
"""How long a single look waits for rows: hosts report once a second."""


@app.command()
def top(
    flow: Annotated[str | None, typer.Argument(help="Only this flow.", show_default="all flows")] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once and end; --json implies it.")] = False,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Watch operators and hosts live: records a second, service time, wait, latency, lag, state. Ctrl-C ends it."""
    cluster = cluster_of(bootstrap, home)
    if flow is not None:
        flow_of(read_registry(cluster.bootstrap), flow)
    if not once and not as_json:
        watch(cluster, flow=flow)
        return
    operators, hosts = measure(cluster.bootstrap, flow=flow, silent_s=cluster.silent_s)
    rows = look_at_flows(cluster)
    if as_json:
        trouble = {row["flow"]: row["trouble"] for row in rows if row["trouble"] and flow in (None, row["flow"])}
        print_json({"window_s": WINDOW_S, "operators": operators, "hosts": hosts, "trouble": trouble})
    else:
        # A pipe gets whole lines; a terminal what fits.
        (console if console.is_terminal else Console(width=WIDTH)).print(_screen(operators, hosts, rows, flow))


def measure(
    bootstrap: str, *, flow: str | None, silent_s: float = SILENT_S
) -> tuple[list[OperatorLine], list[HostLine]]:
    """What operators and hosts reported in the last seconds. `silent_s`: how long to wait for the first report."""
    with reader(bootstrap) as consumer:
        clock = _clock(consumer, silent_s=silent_s)
        if clock is None:
            return [], []
        _begin(consumer, clock)
        tally = Tally()
        _take(consumer, tally, clock, for_s=SETTLE_S)
    return tally.operator_lines(now_s=clock.now_s, flow=flow), tally.host_lines(now_s=clock.now_s)


def watch(cluster: Cluster, *, flow: str | None) -> None:
    """Draws until Ctrl-C."""
    tally = Tally()
    with reader(cluster.bootstrap) as consumer, Live(console=console, auto_refresh=False) as live:
        try:
            clock = None
            rows, looked_s = look_at_flows(cluster), time.monotonic()
            while True:
                if clock is not None:
                    _take(consumer, tally, clock, for_s=REFRESH_S)
                elif (clock := _clock(consumer, silent_s=cluster.silent_s)) is not None:
                    _begin(consumer, clock)
                else:
                    time.sleep(REFRESH_S)
                if time.monotonic() > looked_s + TROUBLE_EVERY_S:
                    rows, looked_s = look_at_flows(cluster), time.monotonic()
                now_s = clock.now_s if clock is not None else 0
                operators, hosts = tally.operator_lines(now_s=now_s, flow=flow), tally.host_lines(now_s=now_s)
                live.update(_screen(operators, hosts, rows, flow), refresh=True)
        except KeyboardInterrupt:
            return


class AppendClock:
    """The broker's time: that of the newest report it has got, and what has gone by since that was seen."""

    def __init__(self, appended_ms: int) -> None:
        self._appended_ms = appended_ms
        self._seen_s = time.monotonic()

    def heard(self, appended_ms: int) -> None:
        """A report was appended then."""
        if appended_ms > self._appended_ms:
            self._appended_ms, self._seen_s = appended_ms, time.monotonic()

    @property
    def now_s(self) -> int:
        """The present second."""
        return int(self._appended_ms / 1_000 + time.monotonic() - self._seen_s)


def _clock(consumer: Consumer, *, silent_s: float) -> AppendClock | None:
    """None if nobody has reported for so long."""
    if catalogue.METRICS_HOSTS.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
        return None
    now_ms = next_report_ms(consumer, patience_s=silent_s)
    return AppendClock(now_ms) if now_ms is not None else None


def _begin(consumer: Consumer, clock: AppendClock) -> None:
    """Read the metrics topics from a window ago on."""
    known = consumer.list_topics(timeout=TIMEOUT_S).topics
    since_ms = (clock.now_s - WINDOW_S - 1) * 1_000
    wanted = [
        TopicPartition(name, partition, since_ms)
        for name in TOPICS
        if name in known
        for partition in known[name].partitions
    ]
    consumer.assign(offsets_since(consumer, wanted))


def _take(consumer: Consumer, tally: Tally, clock: AppendClock, *, for_s: float) -> None:
    """Bring in what comes during this time, as of the second in which it was appended. Rows that are none of ours are
    left out."""
    deadline_s = time.monotonic() + for_s
    while (left_s := deadline_s - time.monotonic()) > 0:
        for record in consumer.consume(500, timeout=min(left_s, 0.1)):
            error = record.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF and error.fatal():
                    return
                continue
            name = str(record.topic())
            try:
                row = TOPICS[name].codec.decode(record.value(), topic=name, partition=0, offset=record.offset() or 0)
            except MessageError:
                continue
            _, appended_ms = record.timestamp()
            clock.heard(appended_ms)
            tally.add(msgspec.structs.replace(row, second=appended_ms // 1_000))


def _screen(
    operators: list[OperatorLine], hosts: list[HostLine], flows: Sequence[dict[str, Any]], flow: str | None
) -> Group:
    """Behind a lag stands `?` where that of some partitions of the flow is not known: they have no rows."""
    trouble = trouble_lines(flows, flow=flow)
    partly_known = {row["flow"] for row in flows if row["lag"] is None}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("flow", "operator", "host"):
        table.add_column(column, no_wrap=True)
    for column in (
        "parts",
        "in/s",
        "out/s",
        "service µs",
        "wait ms",
        "p50 ms",
        "p99 ms",
        "lag",
        "state",
        "dead",
        "late",
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for line in operators:
        table.add_row(
            line.flow,
            line.operator,
            line.host,
            str(line.partitions),
            f"{line.in_per_s:,.1f}",
            f"{line.out_per_s:,.1f}",
            f"{line.service_us:,.1f}",
            f"{line.wait_ms:,.1f}",
            _ms(line.latency_ms_p50),
            _ms(line.latency_ms_p99),
            f"{line.lag:,}{'?' if line.flow in partly_known else ''}",
            _bytes(line.state_bytes),
            Text(str(line.dead_letters), "red" if line.dead_letters else "dim"),
            Text(str(line.late), "yellow" if line.late else "dim"),
        )
    machines = Table(box=None, header_style="bold", pad_edge=False)
    machines.add_column("host", no_wrap=True)
    for column in ("cpu", "memory", "operators", "loop delay ms"):
        machines.add_column(column, justify="right", no_wrap=True)
    for each in hosts:
        memory = _bytes(each.memory_bytes)
        machines.add_row(
            each.host, f"{100 * each.cpu:.0f} %", memory, str(each.operators), f"{each.loop_delay_ms_max:.1f}"
        )
    nothing = Text("No operator has had a record in the last seconds.", "dim")
    return Group(machines, Text(), table if operators else nothing, *([Text(), *trouble] if trouble else []))


def _ms(value: float | None) -> str:
    return f"{value:,.1f}" if value is not None else "-"


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"
