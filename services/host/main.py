"""`python -m services.host`: a host as a process of its own, from its arguments to its exit code."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence

import structlog
import uvloop

from services.host.calibration import calibrate
from services.host.host import Host, HostParams, ReplacedError
from services.logs import configure_logs
from services.operators.collector import collect_rarely
from services.settings import LOG_FORMATS, LOG_LEVELS

log = structlog.get_logger(__name__)

EXIT_REPLACED = 4
"""As `stigmergy` says for what already runs elsewhere."""


def run_host(params: HostParams) -> int:
    """Runs a host in this process until SIGTERM or SIGINT; the exit code."""
    collect_rarely()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(params))
    except ReplacedError as replaced:
        log.error("stopped", reason=str(replaced))
        return EXIT_REPLACED
    log.info("stopped", host=params.name)
    return 0


async def _serve(params: HostParams) -> None:
    host = Host(params)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, host.stop)
    await host.run()


def parse(arguments: Sequence[str]) -> tuple[HostParams, str, str]:
    """The host's parameters, log level and log format."""
    parser = argparse.ArgumentParser(prog="python -m services.host", description="Run one Stigmergy host.")
    parser.add_argument("--name", required=True, help="the host's name, unique in the cluster")
    parser.add_argument("--region", required=True)
    parser.add_argument("--bootstrap", required=True, help="the Kafka cluster, as host:port")
    parser.add_argument("--capacity", type=_capacity, help="relative speed; measured if not given")
    parser.add_argument("--allow", action="append", default=[], help="module prefix or folder for python operators")
    parser.add_argument("--port", type=int, help="loopback port of /health and /metrics")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info")
    parser.add_argument("--log-format", choices=LOG_FORMATS, default="auto")
    given = parser.parse_args(arguments)
    params = HostParams(
        name=given.name,
        region=given.region,
        capacity=given.capacity if given.capacity is not None else calibrate(),
        bootstrap=given.bootstrap,
        allow=tuple(given.allow),
        port=given.port,
    )
    return params, given.log_level, given.log_format


def _capacity(text: str) -> float:
    capacity = float(text)
    if not 0 < capacity < float("inf"):
        raise ValueError(text)
    return capacity


def main() -> None:
    """Entry of the process."""
    params, level, form = parse(sys.argv[1:])
    configure_host_logs(level, form)
    sys.exit(run_host(params))


def configure_host_logs(level: str, form: str) -> None:
    """As for all processes, but without the client library, which in an outage writes a hundred lines a second.

    What matters of it, our own code says: tasks that fail, fetches that fail, reports that are dropped.
    """
    configure_logs(level, form)
    if level != "debug":
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
