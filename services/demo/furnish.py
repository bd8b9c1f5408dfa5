"""The demo inside the embedded stack: the flow is submitted, and its hosts and its producer run beside the brokers."""

import sys
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.probes import HttpProbe
from services.embedded.process import Process
from services.embedded.stack import EmbeddedStack
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.submit import submit

FLOW_FILE = Path(__file__).with_name("top-talkers.yaml")
FLOW = "demo-top-talkers"
HOSTS = {"edge-1": "region-1", "edge-2": "region-1"}
PER_S = 100
STOP_TIMEOUT_S = 30.0
"""More than a host takes at most."""


def furnish_demo(stack: EmbeddedStack) -> None:
    """Call it when brokers and topics are ready; returns when hosts and producer are."""
    submit_demo(stack.bootstrap)
    after = tuple(each.name for each in stack.records() if each.log)  # what the user runs themselves has no log of ours
    *host_ports, demo_port = choose_ports([None] * (len(HOSTS) + 1))
    processes = [
        _host(stack, name, region, port, after) for (name, region), port in zip(HOSTS.items(), host_ports, strict=True)
    ]
    producer = (sys.executable, "-m", "services.demo", "--per-second", str(PER_S))
    processes.append(_process(stack, "demo", producer, demo_port, after))
    stack.run(*processes)


def submit_demo(bootstrap: str) -> None:
    """Submits the flow, unless it is there as it should be: what a person has moved or withdrawn stays so."""
    text = FLOW_FILE.read_text()
    try:
        known = read_registry(bootstrap).flows.get(FLOW)
        if known is None or (known.state == "submitted" and known.text != text):
            submit(bootstrap, text, hosts=list(HOSTS))
    except RegistryError as fault:
        raise StackError(f"the demo could not be submitted: {fault.what}", fault.remedy) from fault


def _host(stack: EmbeddedStack, name: str, region: str, port: int, after: tuple[str, ...]) -> Process:
    command = (sys.executable, "-m", "services.host", "--name", name, "--region", region, "--log-format", "json")
    return _process(stack, name, (*command, "--key-file", str(stack.home.key)), port, after)


def _process(stack: EmbeddedStack, name: str, command: tuple[str, ...], port: int, after: tuple[str, ...]) -> Process:
    return Process(
        name=name,
        command=(*command, "--bootstrap", stack.bootstrap, "--port", str(port)),
        ready=HttpProbe(url=f"http://{LOOPBACK}:{port}/health"),
        address=f"{LOOPBACK}:{port}",
        log=stack.home.logs / f"{name}.log",
        after=after,
        stop_timeout_s=STOP_TIMEOUT_S,
    )
