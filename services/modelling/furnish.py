"""The modelling service inside the embedded stack. It starts beside the rest: nothing waits for Spark."""

import signal
import sys

from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.probes import HttpProbe
from services.embedded.process import Process
from services.embedded.stack import EmbeddedStack
from services.settings import PREFIX

NAME = "models"
START_TIMEOUT_S = 300.0
"""With the download of the connector."""
STOP_TIMEOUT_S = 30.0


def furnish_modelling(stack: EmbeddedStack, master: str) -> None:
    """Call it when brokers and topics are ready; returns at once."""
    stack.run(modelling_process(stack, master, choose_ports([None])[0]))


def modelling_process(stack: EmbeddedStack, master: str, port: int, *, memory_mb: int | None = None) -> Process:
    """The service as a process of the stack; its heap is what the settings say unless another one is given."""
    command = [sys.executable, "-m", "services.modelling", "--master", master, "--log-format", "json"]
    command += ["--memory-mb", str(memory_mb)] if memory_mb is not None else []
    return Process(
        name=NAME,
        command=(*command, "--bootstrap", stack.bootstrap, "--folder", str(stack.home.models), "--port", str(port)),
        ready=HttpProbe(url=f"http://{LOOPBACK}:{port}/health"),
        address=f"{LOOPBACK}:{port}",
        log=stack.home.logs / f"{NAME}.log",
        after=tuple(each.name for each in stack.records() if each.log),  # what the user runs has no log of ours
        environment={
            PREFIX + "REDIS_URL": stack.redis_url,  # it may hold credentials, which a command line shows
            "OPENBLAS_NUM_THREADS": "1",  # matrices of seven: more threads would only wait for each other
        },
        start_timeout_s=START_TIMEOUT_S,
        # To the whole group; the JVM would end at once by SIGTERM, PySpark lets it ignore this one.
        stop_signal=signal.SIGINT,
        stop_timeout_s=STOP_TIMEOUT_S,
        is_awaited=False,
    )
