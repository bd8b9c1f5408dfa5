"""The hosts of a world, each in its region."""

from services.embedded.host_process import host_process
from services.embedded.ports import choose_ports
from services.embedded.stack import EmbeddedStack
from services.embedded.world import World


def furnish_world(stack: EmbeddedStack, world: World) -> None:
    """Call it when brokers and topics are ready; returns when all hosts are."""
    hosts = world.hosts
    ports = choose_ports([None] * len(hosts))
    stack.run(
        *(
            host_process(stack, name, region, port, host.capacity)
            for (name, (host, region)), port in zip(hosts.items(), ports, strict=True)
        ),
    )
