"""What stays the same over restarts of a stack: the cluster's id, its brokers with their regions, and all ports.

Clients keep their bootstrap address when the stack goes down and up. A port that somebody else took is replaced.
"""

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from services.embedded.errors import StackError
from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.world import World

UNSETTLED = -1
"""The port of a gate that is not chosen yet."""


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients of one region reach a broker of a world: its own listener, and the gate before it if there is one.

    `gate` 0: no way lies between them, and clients go to the listener itself.
    """

    region: str
    port: int
    gate: int

    @property
    def address(self) -> str:
        """What the broker tells its clients."""
        return f"{LOOPBACK}:{self.gate or self.port}"


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One broker: its id, its region, and the ports for clients and for the quorum of controllers.

    In a world it has a door for each region; `port` is for those who stand outside of the world and see it all.
    """

    id: int
    region: str
    port: int
    controller_port: int
    doors: tuple[Door, ...] = ()

    @property
    def name(self) -> str:
        """How people and folders call it."""
        return f"broker-{self.id}"

    @property
    def address(self) -> str:
        """Where clients reach it."""
        return f"{LOOPBACK}:{self.port}"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The embedded brokers (none, if the user always had their own) and the port of the embedded Redis."""

    id: str
    sites: tuple[Site, ...]
    redis_port: int

    @property
    def bootstrap(self) -> str:
        """All brokers' addresses."""
        return ",".join(site.address for site in self.sites)

    @property
    def ports(self) -> list[int]:
        """All of them: that of Redis, two a broker, and those of its doors."""
        return [self.redis_port, *(port for site in self.sites for port in _ports(site))]

    def bootstrap_from(self, region: str) -> str:
        """All brokers' addresses as clients in this region reach them, their own region's first."""
        near_first = sorted(self.sites, key=lambda site: (site.region != region, site.id))
        return ",".join(door.address for site in near_first for door in site.doors if door.region == region)


def settle(path: Path, brokers: int, world: World | None = None) -> Cluster:
    """The cluster of this home, made or read again, with ports that are free now; written down.

    No brokers: the user has their own this time, and the embedded ones, if there were any, keep their place.
    """
    before = read_cluster(path) or Cluster(id=_new_cluster_id(), sites=(), redis_port=0)
    regions = world.brokers if world is not None else tuple(f"region-{i}" for i in range(1, brokers + 1))
    if not before.sites:
        sites = tuple(Site(id=i, region=region, port=0, controller_port=0) for i, region in enumerate(regions, 1))
        before = msgspec.structs.replace(before, sites=sites)
    elif brokers != 0:
        _check_same(before, regions, path, is_world=world is not None)
    if brokers != 0:
        sites = tuple(_furnished(site, region, world) for site, region in zip(before.sites, regions, strict=True))
        before = msgspec.structs.replace(before, sites=sites)
    free = iter(choose_ports([port if port > 0 else None for port in before.ports]))
    redis_port = next(free)
    sites = tuple(_with_ports(site, free) for site in before.sites)
    settled = Cluster(id=before.id, sites=sites, redis_port=redis_port)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(settled), indent=2))
    part.replace(path)
    return settled


def _check_same(before: Cluster, regions: tuple[str, ...], path: Path, *, is_world: bool) -> None:
    """Data belongs to its brokers and their regions: others would not find it, or not in the right place."""
    known = tuple(site.region for site in before.sites)
    if len(known) != len(regions):
        raise StackError(
            f"the data in {path.parent} is of {len(known)} brokers, not of {len(regions)}",
            f"start with --brokers {len(known)}, use another --home, or remove it with stigmergy down --wipe",
        )
    if known != regions and len(known) > 1:  # one broker alone may stand wherever it is wanted
        wanted = "the world's" if is_world else "those that are wanted"
        raise StackError(
            f"the data in {path.parent} is of brokers in {', '.join(known)}; {wanted} are {', '.join(regions)}",
            "start it as it was, use another --home, or remove it with stigmergy down --wipe",
        )


def _furnished(site: Site, region: str, world: World | None) -> Site:
    """The broker in its region, with the doors that the world asks for."""
    placed = msgspec.structs.replace(site, region=region)
    return msgspec.structs.replace(placed, doors=_doors(placed, world) if world is not None else ())


def _doors(site: Site, world: World) -> tuple[Door, ...]:
    """A door for each region of the world, with the ports that it had; a gate where there is a way to play."""
    before = {door.region: door for door in site.doors}
    doors = []
    for region in world.regions:
        known = before.get(region.name, Door(region=region.name, port=0, gate=0))
        has_gate = world.has_way(region.name, site.region)
        doors.append(msgspec.structs.replace(known, gate=(known.gate or UNSETTLED) if has_gate else 0))
    return tuple(doors)


def _ports(site: Site) -> list[int]:
    doors = [port for door in site.doors for port in ((door.port, door.gate) if door.gate else (door.port,))]
    return [site.port, site.controller_port, *doors]


def _with_ports(site: Site, free: Iterator[int]) -> Site:
    """The same broker on ports that are free, taken in the order of `_ports`."""
    port, controller_port = next(free), next(free)
    doors = tuple(
        msgspec.structs.replace(door, port=next(free), gate=next(free) if door.gate else 0) for door in site.doors
    )
    return msgspec.structs.replace(site, port=port, controller_port=controller_port, doors=doors)


def read_cluster(path: Path) -> Cluster | None:
    """The cluster as written down; None before the first start."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Cluster)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as fault:
        raise StackError(
            f"{path} cannot be read: {fault}", "put back the file, or remove all data with stigmergy down --wipe"
        ) from fault


def _new_cluster_id() -> str:
    """A random id in Kafka's form: 16 bytes in URL-safe base64, which must not start with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
