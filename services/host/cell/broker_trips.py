"""How far this host is from each broker, told as any other link: the placement service chooses leaders by it."""

import asyncio

import structlog

from services.broker_ping import round_trips_ms
from services.host.cell.delays import BROKER_PEER
from services.process.broker import Broker
from topics.admin import ClusterError
from topics.messages import LinkMetrics, Sketch

log = structlog.get_logger(__name__)

QUESTIONS = 3
TIMEOUT_S = 5.0


async def broker_rows(host: str, broker: Broker, *, second: int) -> list[LinkMetrics]:
    """One row for each broker that answers; none if the cluster does not."""
    try:
        addresses = await broker.addresses()
    except ClusterError as error:
        log.warning("no broker to measure", error=str(error))
        return []
    rows = await asyncio.gather(*(_row(host, number, address, second) for number, address in sorted(addresses.items())))
    return [row for row in rows if row is not None]


async def _row(host: str, number: int, address: tuple[str, int], second: int) -> LinkMetrics | None:
    try:
        trips_ms = await asyncio.to_thread(round_trips_ms, *address, questions=QUESTIONS, timeout_s=TIMEOUT_S)
    except OSError:
        return None  # it is down; who leads its partitions is Kafka's affair
    return LinkMetrics(
        host=host,
        peer=f"{BROKER_PEER}{number}",
        second=second,
        sent=QUESTIONS,
        lost=0,
        round_trip_ms=Sketch.of(trips_ms),
    )
