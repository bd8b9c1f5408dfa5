"""The process that plays the ways of a world, from its brokers' doors."""

import sys

import msgspec

from services.embedded.cluster import Cluster
from services.embedded.home import Home
from services.embedded.links import Gate, Gates
from services.embedded.ports import LOOPBACK
from services.embedded.probes import PortsProbe
from services.embedded.process import Process
from services.embedded.record import WayRecord, WorldRecord
from services.embedded.world import World

NAME = "links"


def gates_of(world: World, cluster: Cluster) -> Gates:
    """A gate before each door that has a way to it."""
    return Gates(
        LOOPBACK,
        tuple(
            Gate(
                client=door.region,
                broker=site.region,
                port=door.gate,
                target=door.port,
                delay_ms=world.round_trip_ms(door.region, site.region) / 2,
                bytes_per_ms=world.bandwidth_bytes_per_ms(door.region, site.region),
            )
            for site in cluster.sites
            for door in site.doors
            if door.gate
        ),
    )


def prepare_links(home: Home, world: World, cluster: Cluster) -> list[Process]:
    """Writes down the gates and describes the process; none if nothing lies between the regions."""
    gates = gates_of(world, cluster)
    if not gates.gates:
        return []
    home.links.write_bytes(msgspec.json.format(msgspec.json.encode(gates), indent=2))
    ports = tuple(gate.port for gate in gates.gates)
    return [
        Process(
            name=NAME,
            command=(sys.executable, "-m", "services.embedded.links", str(home.links)),
            ready=PortsProbe(ports=ports),
            address=f"{len(ports)} gates",
            log=home.logs / f"{NAME}.log",
        )
    ]


def world_record(world: World, cluster: Cluster) -> WorldRecord:
    """The world as others see it."""
    return WorldRecord(
        name=world.name,
        regions={region.name: tuple(host.name for host in region.hosts) for region in world.regions},
        brokers=world.brokers,
        ways=tuple(
            WayRecord(
                between=pair,
                round_trip_ms=world.round_trip_ms(*pair),
                bandwidth_mbit=world.bandwidths_mbit.get(pair),
            )
            for pair in world.pairs()
        ),
        bootstraps={region.name: cluster.bootstrap_from(region.name) for region in world.regions},
    )
