"""`python -m services.demo`: sends packets to the demo's source topic, few and later more, until told to stop."""

import argparse
import asyncio
import contextlib
import signal
import time
from dataclasses import dataclass

import msgspec
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from services.demo.furnish import submit_demo
from services.demo.packets import packets
from services.embedded.furniture import DEMO_SOURCE, make_topics
from services.logs import configure_logs
from services.process.health import HealthServer, plain, port_number

log = structlog.get_logger(__name__)

TICK_S = 0.25


@dataclass(frozen=True, slots=True)
class Rates:
    """So many packets a second, and so many more after a while."""

    per_s: float
    later_per_s: float
    rises_after_s: float

    def due(self, elapsed_s: float) -> int:
        """How many packets should have been sent by now."""
        early_s = min(elapsed_s, self.rises_after_s)
        return int(early_s * self.per_s + (elapsed_s - early_s) * self.later_per_s)

    def now_per_s(self, elapsed_s: float) -> float:
        """The rate at this time."""
        return self.per_s if elapsed_s < self.rises_after_s else self.later_per_s


async def produce(bootstrap: str, *, rates: Rates, seed: int, port: int | None) -> None:
    """Sends packets at these rates. A broker that is away for a while is waited for."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="stig.demo", linger_ms=5)
    await producer.start()
    try:
        async with contextlib.AsyncExitStack() as stack:
            if port is not None:
                await stack.enter_async_context(HealthServer(port, {"/health": lambda: plain("ready\n")}))
            await _send(producer, stop, rates=rates, seed=seed)
    finally:
        await producer.stop()


async def _send(producer: AIOKafkaProducer, stop: asyncio.Event, *, rates: Rates, seed: int) -> None:
    source = packets(seed)
    begin_s, sent = time.monotonic(), 0
    while not stop.is_set():
        # What a pause has delayed is sent late, but never more than a second's worth at once.
        elapsed_s = time.monotonic() - begin_s
        due = rates.due(elapsed_s)
        sent = max(sent, due - int(rates.now_per_s(elapsed_s)))
        try:
            for _ in range(due - sent):
                packet = next(source) | {"ts": time.time_ns() // 1_000_000}
                await producer.send(DEMO_SOURCE.name, msgspec.json.encode(packet), key=packet["src"].encode())
        except KafkaError as error:
            log.warning("packets could not be sent", error=repr(error))
        sent = due
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), TICK_S)


def main() -> None:
    """Entry of the process."""
    parser = argparse.ArgumentParser(prog="python -m services.demo", description="Send made-up packets to the demo.")
    parser.add_argument("--bootstrap", required=True, help="the Kafka cluster, as host:port")
    parser.add_argument("--per-second", type=float, default=100.0)
    parser.add_argument("--later-per-second", type=float, help="the rate after a while; the same if not given")
    parser.add_argument("--rises-after", type=float, default=60.0, help="seconds until the rate changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=port_number, help="loopback port of /health")
    parser.add_argument("--submit-at", metavar="REGION", help="make the topic and submit the flow first")
    given = parser.parse_args()
    configure_logs()
    if given.submit_at is not None:
        make_topics(given.bootstrap)
        submit_demo(given.bootstrap, at=given.submit_at)
    later_per_s = given.later_per_second if given.later_per_second is not None else given.per_second
    rates = Rates(given.per_second, later_per_s, given.rises_after)
    asyncio.run(produce(given.bootstrap, rates=rates, seed=given.seed, port=given.port))
