"""The demo inside the embedded stack: a small world, a flow that ants place, and packets of which there will be more.

After a while the packets become about as many as the small host at the edge can bear; the core could bear more. Where
there is no such world (several brokers, or a Kafka of the user's own) the demo runs on two equal hosts.
"""

import sys
import time
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.host_process import host_process, served_process
from services.embedded.ports import choose_ports
from services.embedded.stack import EmbeddedStack
from services.embedded.world import World
from services.embedded.world_file import load_world
from services.embedded.world_hosts import furnish_world
from services.registry.changes import submitted
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.write import write
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

FLOW_FILE = Path(__file__).with_name("top-talkers.yaml")
WORLD_FILE = Path(__file__).with_name("world.yaml")
FLOW = "demo-top-talkers"
PRODUCER = "demo"
"""The process that makes packets."""
SOURCE_REGION = "edge"
HOSTS = {"edge-1": "edge", "core-1": "core"}
PER_S, LATER_PER_S, RISES_AFTER_S = 100, 6_000, 40.0


def demo_world() -> World:
    """The world in which the demo is at home."""
    return load_world(WORLD_FILE)


def furnish_demo(stack: EmbeddedStack) -> None:
    """Call it when brokers and topics are ready; returns when hosts and producer are."""
    submit_demo(stack.bootstrap)
    world = stack.params.world
    if world is not None:
        furnish_world(stack, world)
    else:
        ports = choose_ports([None] * len(HOSTS))
        named = zip(HOSTS.items(), ports, strict=True)
        stack.run(*(host_process(stack, name, region, port) for (name, region), port in named))
    bootstrap = stack.bootstrap_from(SOURCE_REGION)
    rates = ("--per-second", str(PER_S), "--later-per-second", str(LATER_PER_S), "--rises-after", str(RISES_AFTER_S))
    producer = (sys.executable, "-m", "services.demo", *rates, "--bootstrap", bootstrap)
    stack.run(served_process(stack, PRODUCER, producer, choose_ports([None])[0]))


def submit_demo(bootstrap: str, *, at: str = SOURCE_REGION) -> None:
    """Submits the flow, unless it is there as it should be: what a person has withdrawn stays so.

    Packets come from, and results are wanted in, the region `at`.
    """
    text = FLOW_FILE.read_text().replace(f"at: {SOURCE_REGION}", f"at: {at}")
    try:
        view = read_registry(bootstrap)
        known = view.flows.get(FLOW)
        if known is None or (known.state == "submitted" and known.text != text):
            entries = submitted(view, parse_graph(text), text, {}, now_ms=time.time_ns() // 1_000_000)
            write(bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
    except RegistryError as fault:
        raise StackError(f"the demo could not be submitted: {fault.what}", fault.remedy) from fault
