"""The placement service inside the embedded stack: two instances, so that one can take over from the other."""

import sys

from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.probes import HttpProbe
from services.embedded.process import Process
from services.embedded.stack import EmbeddedStack

INSTANCES = ("placement-1", "placement-2")
STOP_TIMEOUT_S = 15.0


def furnish_placement(stack: EmbeddedStack) -> None:
    """Call it when brokers and topics are ready; returns when both instances are."""
    after = tuple(each.name for each in stack.records() if each.log)  # what the user runs themselves has no log of ours
    ports = choose_ports([None] * len(INSTANCES))
    stack.run(*(_process(stack, name, port, after) for name, port in zip(INSTANCES, ports, strict=True)))


def _process(stack: EmbeddedStack, name: str, port: int, after: tuple[str, ...]) -> Process:
    command = (sys.executable, "-m", "services.placement", "--name", name, "--log-format", "json")
    patience = ("--silent", repr(stack.params.silent_s), "--return", repr(stack.params.return_s))
    return Process(
        name=name,
        command=(*command, "--bootstrap", stack.bootstrap, "--port", str(port), *patience),
        ready=HttpProbe(url=f"http://{LOOPBACK}:{port}/health"),
        address=f"{LOOPBACK}:{port}",
        log=stack.home.logs / f"{name}.log",
        after=after,
        stop_timeout_s=STOP_TIMEOUT_S,
    )
