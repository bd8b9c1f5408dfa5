"""The demo inside the embedded stack: the flow is submitted, and its hosts and its producer run beside the brokers."""

import sys
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.host_process import host_process, served_process
from services.embedded.ports import choose_ports
from services.embedded.stack import EmbeddedStack
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.submit import submit

FLOW_FILE = Path(__file__).with_name("top-talkers.yaml")
FLOW = "demo-top-talkers"
HOSTS = {"edge-1": "region-1", "edge-2": "region-1"}
PER_S = 100


def furnish_demo(stack: EmbeddedStack) -> None:
    """Call it when brokers and topics are ready; returns when hosts and producer are."""
    submit_demo(stack.bootstrap)
    *host_ports, demo_port = choose_ports([None] * (len(HOSTS) + 1))
    hosts = [
        host_process(stack, name, region, port) for (name, region), port in zip(HOSTS.items(), host_ports, strict=True)
    ]
    producer = (sys.executable, "-m", "services.demo", "--per-second", str(PER_S), "--bootstrap", stack.bootstrap)
    stack.run(*hosts, served_process(stack, "demo", producer, demo_port))


def submit_demo(bootstrap: str) -> None:
    """Submits the flow, unless it is there as it should be: what a person has moved or withdrawn stays so."""
    text = FLOW_FILE.read_text()
    try:
        known = read_registry(bootstrap).flows.get(FLOW)
        if known is None or (known.state == "submitted" and known.text != text):
            submit(bootstrap, text, hosts=list(HOSTS))
    except RegistryError as fault:
        raise StackError(f"the demo could not be submitted: {fault.what}", fault.remedy) from fault
