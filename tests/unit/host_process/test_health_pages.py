"""The host's own small HTTP server, and the text that Prometheus reads from it."""

import asyncio
from collections import deque
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from services.embedded.ports import choose_ports
from services.host.exposition import exposition
from services.host.meter import LastReport, Meter
from services.host.reports import Identity, Reports, Standing
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
    reports = SimpleNamespace(
        host_row=None,
        standings={("shop.1", 0): Standing(1, "running", 0), ('od"d\n', 1): Standing(1, "parked", 0, "why")},
        totals={("shop", "large", 0): {"arrivals": 7, "outputs": 3, "dead_letters": 0}},
        lag=lambda slot: 5 if slot[0] == "shop.1" else None,
    )
    lines = exposition(reports, garbage=2).splitlines()  # type: ignore[arg-type]
    assert "stigmergy_host_registry_garbage_total 2" in lines
    assert 'stigmergy_segment_lag{segment="shop.1",partition="0"} 5' in lines
    assert 1 == sum(line.startswith("stigmergy_segment_lag{") for line in lines), "what nobody knows is left out"
    assert 'stigmergy_segment_state{segment="od\\"d\\n",partition="1",state="parked"} 1' in lines
    assert 'stigmergy_operator_arrivals_total{flow="shop",operator="large",partition="0"} 7' in lines
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
    assert {("shop", "large", 0): {"arrivals": 10, "outputs": 4, "dead_letters": 0}} == reports.totals
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
        reports._add_up(meter)
    ended = SimpleNamespace(
        plan=SimpleNamespace(flow="shop", segment=SimpleNamespace(id="shop.1", operators=("large",))),
        last_reports=[],
    )
    reports.remove(ended)  # type: ignore[arg-type]
    assert [("bank", "large", 0), ("shop", "counted", 0)] == sorted(reports.totals)
