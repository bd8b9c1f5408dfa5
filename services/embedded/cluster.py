"""What stays the same over restarts of a stack: the cluster's id, its brokers with their regions, and all ports.

Clients keep their bootstrap address when the stack goes down and up. A port that somebody else took is replaced.
"""

import base64
import uuid
from pathlib import Path

import msgspec

from services.embedded.errors import StackError
from services.embedded.ports import LOOPBACK, choose_ports


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One broker: its id, its region, and the ports for clients and for the quorum of controllers."""

    id: int
    region: str
    port: int
    controller_port: int

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
        """All of them: that of Redis, and two a broker."""
        return [self.redis_port, *(port for site in self.sites for port in (site.port, site.controller_port))]


def settle(path: Path, brokers: int) -> Cluster:
    """The cluster of this home, made or read again, with ports that are free now; written down.

    No brokers: the user has their own this time, and the embedded ones, if there were any, keep their place.
    """
    before = read_cluster(path) or Cluster(id=_new_cluster_id(), sites=(), redis_port=0)
    if not before.sites:
        sites = tuple(Site(id=i, region=f"region-{i}", port=0, controller_port=0) for i in range(1, brokers + 1))
        before = msgspec.structs.replace(before, sites=sites)
    elif brokers not in (0, len(before.sites)):
        raise StackError(
            f"the data in {path.parent} is of {len(before.sites)} brokers, not of {brokers}",
            f"start with --brokers {len(before.sites)}, use another --home, or remove it with stigmergy down --wipe",
        )
    redis_port, *others = choose_ports([port or None for port in before.ports])
    sites = tuple(
        msgspec.structs.replace(site, port=port, controller_port=controller_port)
        for site, port, controller_port in zip(before.sites, others[::2], others[1::2], strict=True)
    )
    settled = Cluster(id=before.id, sites=sites, redis_port=redis_port)
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(settled), indent=2))
    part.replace(path)
    return settled


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
