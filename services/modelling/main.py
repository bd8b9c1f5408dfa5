"""`python -m services.modelling`: the modelling service as a process, from its arguments to its exit code."""

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from services.embedded.ports import LOOPBACK
from services.logs import configure_service_logs
from services.modelling.params import FitParams, ModellingParams, SparkParams
from services.process.health import port_number
from services.settings import LOG_FORMATS, LOG_LEVELS, PREFIX, load_settings

log = structlog.get_logger(__name__)

STOP_TIMEOUT_S = 25.0
MALLOC_TRIM, MALLOC_MAP = -1, -3
"""Parameters of glibc's `mallopt`: how much free memory it keeps, and from which size on it asks the system."""
MIB = 1 << 20


def run_modelling(params: ModellingParams) -> int:
    """Runs the service in this process until SIGTERM or SIGINT; the exit code."""
    asyncio.run(_serve(params))
    log.info("stopped")
    return 0


async def _serve(params: ModellingParams) -> None:
    from services.modelling.service import Service, exit_late

    service = Service(params)
    loop = asyncio.get_running_loop()

    def asked() -> None:
        service.stop()
        exit_late(STOP_TIMEOUT_S)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked)
    await service.run()


def parse(arguments: Sequence[str]) -> tuple[ModellingParams, str, str]:
    """The parameters, log level and log format. Fetches the connector's jars if need be."""
    parser = argparse.ArgumentParser(prog="python -m services.modelling", description="Run the modelling service.")
    parser.add_argument("--bootstrap", required=True, help="the Kafka cluster, as host:port")
    parser.add_argument("--folder", required=True, type=Path, help="folder for the checkpoint and scratch space")
    parser.add_argument("--master", default="local[*]", help="Spark's master, such as local[2] or spark://host:7077")
    parser.add_argument(
        "--driver-host", default=LOOPBACK, help="address of this machine for Spark's workers on other machines"
    )
    parser.add_argument(
        "--memory-mb",
        type=int,
        help="heap of Spark's driver, and of each executor  [default: the setting models_heap_mb]",
    )
    parser.add_argument("--window", type=int, default=120, help="seconds that models rest on")
    parser.add_argument("--port", type=port_number, help="loopback port of /health and /metrics")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info")
    parser.add_argument("--log-format", choices=LOG_FORMATS, default="auto")
    given = parser.parse_args(arguments)
    from services.modelling.spark_session import connector

    settings = load_settings().settings

    params = ModellingParams(
        bootstrap=given.bootstrap,
        redis_url=os.environ.get(PREFIX + "REDIS_URL") or None,
        checkpoint=given.folder / "checkpoint",
        spark=SparkParams(
            master=given.master,
            memory_mb=given.memory_mb or settings.models_heap_mb,
            driver_host=given.driver_host,
            jars=connector(settings.cache),
            work=given.folder / "work",
        ),
        port=given.port,
        fits=FitParams(window_s=given.window),
    )
    return params, given.log_level, given.log_format


def keep_freed_memory() -> None:
    """Each second fits take and free thousands of arrays of megabytes: a tenth of their time the system was busy
    clearing pages that it had just been given back."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # else it is not glibc
        library.mallopt(MALLOC_MAP, 32 * MIB)
        library.mallopt(MALLOC_TRIM, 512 * MIB)


def main() -> None:
    """Entry of the process."""
    params, level, form = parse(sys.argv[1:])
    keep_freed_memory()
    configure_service_logs(level, form)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    os.environ["SPARK_LOCAL_IP"] = (
        params.spark.driver_host
    )  # else Spark looks for an address of the machine, and complains
    sys.exit(run_modelling(params))
