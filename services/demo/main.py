"""`python -m services.demo`: sends packets to the demo's source topic at a gentle rate, until it is told to stop."""

import argparse
import asyncio
import contextlib
import signal
import time

import msgspec
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from services.demo.packets import packets
from services.embedded.furniture import DEMO_SOURCE
from services.host.health import HealthServer, plain
from services.logs import configure_logs

log = structlog.get_logger(__name__)

TICK_S = 0.1


async def produce(bootstrap: str, *, per_s: float, seed: int, port: int | None) -> None:
    """Sends `per_s` packets a second. A broker that is away for a while is waited for."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, client_id="stig.demo", linger_ms=20)
    await producer.start()
    try:
        async with contextlib.AsyncExitStack() as stack:
            if port is not None:
                await stack.enter_async_context(HealthServer(port, {"/health": lambda: plain("ready\n")}))
            await _send(producer, stop, per_s=per_s, seed=seed)
    finally:
        await producer.stop()


async def _send(producer: AIOKafkaProducer, stop: asyncio.Event, *, per_s: float, seed: int) -> None:
    source = packets(seed)
    begin_s, sent = time.monotonic(), 0
    while not stop.is_set():
        # What a pause has delayed is sent late, but never more than a second's worth at once.
        due = int((time.monotonic() - begin_s) * per_s)
        sent = max(sent, due - int(per_s))
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, help="loopback port of /health")
    given = parser.parse_args()
    configure_logs()
    asyncio.run(produce(given.bootstrap, per_s=given.per_second, seed=given.seed, port=given.port))
