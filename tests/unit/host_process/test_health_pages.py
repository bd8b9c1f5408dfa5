"""The host's own small HTTP server, and the text that Prometheus reads from it."""

import asyncio
from collections import deque
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from services.embedded.ports import choose_ports
from services.host.exposition import exposition
from services.host.meter import LastReport, Meter, Work
from services.host.reports import Identity, Reports, Standing
from services.host.totals import Totals
from services.process.clock import BrokerClock
from services.process.health import HealthServer, Page, UnwellError, plain


def test_pages_are_served_and_all_else_is_refused() -> None:
    """A health check and Prometheus need GET; nothing else is let in. A page may say that all is not well."""
    (port,) = choose_ports([None])

    def ask(path: str, method: str = "GET") -> tuple[int, bytes]:
        try:
            with urlopen(Request(f"http://127.0.0.1:{port}{path}", method=method), timeout=60) as answer:
                return answer.status, answer.read()
        except HTTPError as refused:
            return refused.code, refused.read()

    def ill() -> Page:
        raise UnwellError("the query hangs")

    async def story() -> list[tuple[int, bytes]]:
        async with HealthServer(port, {"/health": lambda: plain("ready\n"), "/ill": ill}):
            asked = [("/health", "GET"), ("/ill", "GET"), ("/secret", "GET"), ("/health", "DELETE")]
            return [await asyncio.to_thread(ask, *each) for each in asked]

    found = asyncio.run(story())
    assert [(200, b"ready\n"), (503, b"the query hangs\n")] == found[:2]
    assert [404, 405] == [status for status, _ in found[2:]]


@pytest.mark.parametrize("request_bytes", [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff" * 20_000, b"GET " + b"/" * 20_000])
def test_a_strange_request_harms_nobody(request_bytes: bytes) -> None:
    """The port is open to everything on the machine."""
    (port,) = choose_ports([None])

    async def story() -> bytes:
        async with HealthServer(port, {"/health": lambda: plain("ready\n")}):
            for raw in (request_bytes, b"GET /health HTTP/1.1\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(raw)
                writer.write_eof()
                try:
                    answer = await reader.read()
                except ConnectionResetError:
                    answer = b""
                writer.close()
            return answer

    assert asyncio.run(story()).endswith(b"ready\n")


def test_prometheus_reads_states_lag_and_totals() -> None:
    """A name or label that is not escaped makes Prometheus refuse the whole page."""
    totals = Totals()
    totals.committed({("shop", "large", 0): Work(7, 3)})
    reports = SimpleNamespace(
        host_row=None,
        standings={("shop.1", 0): Standing(1, "running", 0), ('od"d\n', 1): Standing(1, "parked", 0, "why")},
        totals=totals,
        state_bytes=lambda: {("shop", "large", 0): 512},
        lag=lambda slot: 5 if slot[0] == "shop.1" else None,
    )
    lines = exposition(reports, garbage=2).splitlines()  # type: ignore[arg-type]
    assert "stigmergy_host_registry_garbage_total 2" in lines
    assert 'stigmergy_segment_lag{segment="shop.1",partition="0"} 5' in lines
    assert 1 == sum(line.startswith("stigmergy_segment_lag{") for line in lines), "what nobody knows is left out"
    assert 'stigmergy_segment_state{segment="od\\"d\\n",partition="1",state="parked"} 1' in lines
    assert 'stigmergy_operator_arrivals_total{flow="shop",operator="large",partition="0"} 7' in lines
    assert 'stigmergy_operator_state_bytes{flow="shop",operator="large",partition="0"} 512' in lines
    assert all(line.startswith(("#", "stigmergy_")) for line in lines)


def test_the_last_second_of_a_task_that_ends_is_told() -> None:
    """It did not run any more when rows were taken: what it had done since the second before was in no figure."""
    reports = Reports(Identity("a", "1", 1.0), None, BrokerClock())  # type: ignore[arg-type]
    goes_on, ends = (
        SimpleNamespace(
            plan=SimpleNamespace(flow="shop", segment=SimpleNamespace(id=f"shop.{n}", operators=("large",))),
            last_reports=deque([LastReport(measured(f"shop.{n}"), lag=5, state_bytes={"large": 7}, bytes_out=9)]),
            tasks=dict,
        )
        for n in (1, 2)
    )
    reports.add(goes_on)  # type: ignore[arg-type]
    reports.add(ends)  # type: ignore[arg-type]
    reports.remove(ends)  # type: ignore[arg-type]
    rows = list(reports._operator_rows(5))
    assert [("shop.1", 10, 5, 7, 9), ("shop.2", 10, 5, 7, 9)] == [
        (row.segment, row.arrivals, row.lag, row.state_bytes, row.bytes_out) for row in rows
    ]
    assert {("shop", "large", 0): Work(10, 4)} == {key: each.work for key, each in reports.totals.operators.items()}
    assert [("shop.1", 0)] == [*reports.totals.tasks], "what has ended comes in no total any more"
    assert [] == list(reports._operator_rows(6))


def measured(segment: str) -> Meter:
    meter = Meter("shop", segment, 0, first="large")
    meter.begun()
    meter.probe("large", 10, 4)
    meter.committed()
    return meter


def test_totals_end_with_their_segment() -> None:
    """A host that many flows pass through would tell of all of them for ever, in every scrape."""
    reports = Reports(Identity("a", "1", 1.0), None, BrokerClock())  # type: ignore[arg-type]
    for flow, operator in (("shop", "large"), ("shop", "counted"), ("bank", "large")):
        meter = Meter(flow, f"{flow}.1", 0, first=operator)
        meter.begun()
        meter.probe(operator, 10, 4)
        meter.committed()
        reports._added_up(meter, meter.report("a", 5, lag=0, state_bytes={}, bytes_out=0))
    ended = SimpleNamespace(
        plan=SimpleNamespace(flow="shop", segment=SimpleNamespace(id="shop.1", operators=("large",))),
        last_reports=[],
    )
    reports.remove(ended)  # type: ignore[arg-type]
    assert [("bank", "large", 0), ("shop", "counted", 0)] == sorted(reports.totals.operators)
    assert [("bank.1", 0)] == sorted(reports.totals.tasks)


def test_prometheus_reads_what_the_models_need() -> None:
    """Sums and counts that only grow, so that their means over any span can be had; what is the task's counts once."""
    meter, totals = Meter("shop", "shop.1", 0, first="large"), Totals()
    for second in (5, 6):
        meter.fetched([SimpleNamespace(timestamp=1_000)] * 10, now_ms=1_020)
        meter.bytes_in += 700
        meter.begun()
        meter.probe("large", 10, 4)
        meter.probe("counted", 4, 4)
        meter.set_aside(late=2, dropped=1)
        meter.finished(25.0)
        meter.committed()
        totals.committed(meter.take_done())
        totals.reported(meter.report("a", second, lag=0, state_bytes={}, bytes_out=300))
    totals.reported(meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0))
    reports = SimpleNamespace(host_row=None, standings={}, totals=totals, state_bytes=dict)
    shown = dict(line.rsplit(" ", 1) for line in exposition(reports, garbage=0).splitlines())  # type: ignore[arg-type]
    task = {"waited": 20, "wait_us": 400_000, "timed": 2, "latency_ms": 50, "bytes_in": 1_400, "bytes_out": 600}
    for name, value in task.items():
        assert value == float(shown[f'stigmergy_segment_{name}_total{{segment="shop.1",partition="0"}}']), name
    counts = {
        "large": {"served": 20, "gaps": 10, "late": 4, "dropped": 2},
        "counted": {"served": 8, "gaps": 4, "late": 0},
    }
    for operator, expected in counts.items():
        labels = f'{{flow="shop",operator="{operator}",partition="0"}}'
        assert expected == {name: float(shown[f"stigmergy_operator_{name}_total{labels}"]) for name in expected}
        for name in ("service_us", "service_us_sq", "gaps_us", "gaps_us_sq"):
            assert float(shown[f"stigmergy_operator_{name}_total{labels}"]) > 0, name
