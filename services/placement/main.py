"""`python -m services.placement`: one instance as a process of its own, from its arguments to its exit code."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

import structlog

from services.event_loop import new_runner
from services.logs import configure_service_logs
from services.placement.instance import Instance
from services.placement.params import PlacementParams
from services.process.health import CannotListenError, port_number
from services.settings import LOG_FORMATS, LOG_LEVELS, RETURN_S, SILENT_S

log = structlog.get_logger(__name__)

EXIT_FAILED = 1


def run_placement(params: PlacementParams) -> int:
    """Runs an instance in this process until SIGTERM or SIGINT; the exit code. Raises CannotListenError."""
    with new_runner() as runner:
        runner.run(_serve(params))
    return 0


async def _serve(params: PlacementParams) -> None:
    instance = Instance(params)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, instance.stop)
    await instance.run()


def parse(arguments: Sequence[str]) -> tuple[PlacementParams, str, str]:
    """The instance's parameters, log level and log format."""
    parser = argparse.ArgumentParser(prog="python -m services.placement", description="Run one placement instance.")
    parser.add_argument("--name", required=True, help="the instance's name")
    parser.add_argument("--bootstrap", required=True, help="the Kafka cluster, as host:port")
    parser.add_argument("--port", type=port_number, help="loopback port of /health and /metrics")
    parser.add_argument("--silent", type=float, default=SILENT_S, help="seconds after which a silent host is lost")
    parser.add_argument(
        "--return", dest="returning", type=float, default=RETURN_S, help="seconds that all get to return"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info")
    parser.add_argument("--log-format", choices=LOG_FORMATS, default="auto")
    given = parser.parse_args(arguments)
    params = PlacementParams(
        name=given.name,
        bootstrap=given.bootstrap,
        port=given.port,
        silent_s_max=given.silent,
        return_s_max=given.returning,
    )
    return params, given.log_level, given.log_format


def main() -> None:
    """Entry of the process."""
    params, level, form = parse(sys.argv[1:])
    configure_service_logs(level, form)
    try:
        sys.exit(run_placement(params))
    except CannotListenError as fault:
        log.error("stopped", reason=fault.what, next=fault.remedy)
        sys.exit(EXIT_FAILED)
