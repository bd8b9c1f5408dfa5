"""`python -m services.host`: a host as a process of its own, from its arguments to its exit code."""

import argparse
import asyncio
import importlib.metadata
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import structlog

from services.cluster_key import KEY_VARIABLE, read_key
from services.event_loop import new_runner
from services.host.calibration import calibrate
from services.host.cell.roster import SILENT_MS
from services.host.cell.service import CellParams
from services.host.host import CLOSE_S_MAX, STOP_TIMEOUT_S, Host, HostParams, ReplacedError
from services.host.memory import TEMPORARY
from services.isolated.caller import MEMORY_MB, MEMORY_MB_MIN, IsolationParams
from services.logs import configure_service_logs
from services.operators.collector import collect_rarely
from services.process.health import CannotListenError, port_number
from services.settings import LOG_FORMATS, LOG_LEVELS, PREFIX, SettingsError, check_host_name

log = structlog.get_logger(__name__)

EXIT_LATE = 1
EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_REPLACED = 4
"""As `stigmergy` says for what already runs elsewhere."""
EXIT_PATIENCE_S = 3.0
"""For the last reports, after the segments have had their time to stop."""


def run_host(params: HostParams) -> int:
    """Runs a host in this process until SIGTERM or SIGINT; the exit code. Raises CannotListenError."""
    collect_rarely()
    try:
        with new_runner() as runner:
            runner.run(_serve(params))
    except ReplacedError as replaced:
        log.error("stopped", reason=str(replaced))
        return EXIT_REPLACED
    log.info("stopped", host=params.name)
    return 0


async def _serve(params: HostParams) -> None:
    host = Host(params)
    loop = asyncio.get_running_loop()

    def asked(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(host.stop)
        # Whatever holds up the loop, or a thread that Python waits for at its exit: nothing is lost by leaving it
        # behind, since what was not committed is done again.
        late = threading.Timer(params.stop_timeout_s + CLOSE_S_MAX + EXIT_PATIENCE_S, _leave)
        late.daemon = True
        late.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)  # and not the loop's own handler, which a busy loop would never run
    await host.run()


def _leave() -> None:
    log.warning("the host did not end by itself, and is ended; what it had not committed will be done again")
    os._exit(EXIT_LATE)


def parse(arguments: Sequence[str]) -> tuple[HostParams, str, str]:
    """The host's parameters, log level and log format."""
    parser = argparse.ArgumentParser(prog="python -m services.host", description="Run one Stigmergy host.")
    parser.add_argument("--name", required=True, help="the host's name, unique in the cluster")
    parser.add_argument("--region", required=True)
    parser.add_argument("--bootstrap", required=True, help="the Kafka cluster, as host:port")
    parser.add_argument("--capacity", type=_capacity, help="relative speed; measured if not given")
    parser.add_argument("--play-capacity", action="store_true", help="be as slow as --capacity says, to play a world")
    parser.add_argument("--allow", action="append", default=[], help="module prefix or folder for python operators")
    parser.add_argument("--port", type=port_number, help="loopback port of /health and /metrics")
    parser.add_argument("--key-file", type=Path, help=f"file with the cluster's key; else {KEY_VARIABLE} has it")
    parser.add_argument("--silent", type=float, default=SILENT_MS / 1e3, help="seconds after which a host is dead")
    parser.add_argument("--state-folder", type=Path, default=TEMPORARY, help="for flows with state: disk")
    parser.add_argument(
        "--memory-limit", type=int, metavar="MB", help="above it standbys rest, then the largest state is parked"
    )
    parser.add_argument("--function-memory", type=_function_memory, default=MEMORY_MB, metavar="MB", help="of each")
    parser.add_argument("--stop-timeout", type=float, default=STOP_TIMEOUT_S, help="seconds that segments may drain")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info")
    parser.add_argument("--log-format", choices=LOG_FORMATS, default="auto")
    given = parser.parse_args(arguments)
    check_host_name(given.name)
    measured = calibrate() if given.capacity is None or given.play_capacity else given.capacity
    capacity = given.capacity if given.capacity is not None else measured
    params = HostParams(
        name=given.name,
        region=given.region,
        capacity=capacity,
        slowness=max(1.0, measured / capacity) if given.play_capacity else 1.0,
        bootstrap=given.bootstrap,
        key=read_key(given.key_file),
        allow=tuple(given.allow),
        port=given.port,
        state_folder=given.state_folder,
        memory_limit_bytes=given.memory_limit << 20 if given.memory_limit is not None else None,
        isolation=IsolationParams(memory_bytes=given.function_memory << 20),
        stop_timeout_s=given.stop_timeout,
        software=software(),
        cell=CellParams(silent_ms=given.silent * 1e3, redis_url=os.environ.get(PREFIX + "REDIS_URL") or None),
    )
    return params, given.log_level, given.log_format


def software() -> str:
    """What registers: our name and version."""
    return f"stigmergy {importlib.metadata.version('stigmergy')}"


def _capacity(text: str) -> float:
    capacity = float(text)
    if not 0 < capacity < float("inf"):
        raise ValueError(text)
    return capacity


def _function_memory(text: str) -> int:
    memory_mb = int(text)
    if memory_mb < MEMORY_MB_MIN:
        raise ValueError(text)
    return memory_mb


def main() -> None:
    """Entry of the process."""
    try:
        params, level, form = parse(sys.argv[1:])
    except SettingsError as refusal:
        print(refusal, file=sys.stderr)  # noqa: T201 - before there is a log
        sys.exit(EXIT_REFUSED)
    configure_service_logs(level, form)
    try:
        sys.exit(run_host(params))
    except CannotListenError as fault:
        log.error("stopped", reason=fault.what, next=fault.remedy)
        sys.exit(EXIT_FAILED)
