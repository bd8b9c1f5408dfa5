"""A broker and Redis, each of whose clients reaches them by a way of its own: freezing the way cuts that client off.

The broker has a door for each client (services/embedded/cluster.py), and before each door, and before Redis, one of the
product's own link processes plays the way. While it is stopped nothing gets through and nothing is refused: connections
stay open and silent, as when a cable is pulled. What was under way arrives when the cut is mended, however stale.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from services.embedded import StackParams
from services.embedded.cluster import settle
from services.embedded.home import Home
from services.embedded.kafka import prepare_brokers
from services.embedded.links import Gate, Gates
from services.embedded.ports import LOOPBACK, choose_ports
from services.embedded.probes import PortsProbe
from services.embedded.process import Process
from services.embedded.record import ProcessRecord
from services.embedded.redis_server import prepare_redis
from services.embedded.stack import kafka_class_path
from services.embedded.supervisor import Supervisor
from services.embedded.world import Region, World
from services.embedded.world_gates import gates_of

CORE = "core"
"""Where the broker stands."""
REDIS = "redis"
ROUND_TRIP_MS = 0.2
"""Next to nothing, but not nothing: else there would be no gate."""


def way_of(client: str) -> str:
    """The name of the process that plays a client's way."""
    return f"way-{client}"


class WayStack:
    """`start`, then give each client its `bootstrap_of`; whoever uses `bootstrap` can't be cut off."""

    def __init__(self, folder: Path, clients: Sequence[str]) -> None:
        self.bootstrap = ""
        self.redis_url = ""
        self._home = Home(folder)
        self._clients = clients
        self._bootstraps: dict[str, str] = {}
        self._supervisor = Supervisor(lambda _records, _what: None)

    def start(self) -> None:
        self._home.make()
        self._home.logs.mkdir(exist_ok=True)
        regions = (Region(CORE, ()), *(Region(name, (), broker=False) for name in self._clients))
        names = sorted(region.name for region in regions)
        round_trips_ms = {(a, b): ROUND_TRIP_MS for a in names for b in names if a < b}
        world = World("ways", regions, round_trips_ms)
        cluster = settle(self._home.cluster, 1, world)
        self.bootstrap = cluster.bootstrap
        self._bootstraps = {name: cluster.bootstrap_from(name) for name in self._clients}
        redis = prepare_redis(self._home, cluster.redis_port)
        (redis_port,) = choose_ports([None])
        self.redis_url = f"redis://{LOOPBACK}:{redis_port}/0"
        gate = Gate(client=REDIS, broker=CORE, port=redis_port, target=cluster.redis_port, delay_ms=0.0)
        ways = [self._way(each) for each in (*gates_of(world, cluster).gates, gate)]
        class_path = kafka_class_path(StackParams(home=self._home.path))
        brokers = prepare_brokers(self._home, cluster, class_path, after=tuple(way.name for way in ways))
        self._supervisor.start()
        self._supervisor.add([redis, *ways, *brokers])
        self._supervisor.wait_ready()

    def stop(self) -> None:
        self._supervisor.stop()

    def bootstrap_of(self, client: str) -> str:
        """The broker at the end of this client's way."""
        return self._bootstraps[client]

    def records(self) -> tuple[ProcessRecord, ...]:
        return self._supervisor.records()

    def _way(self, gate: Gate) -> Process:
        name = way_of(gate.client)
        file = self._home.path / f"{name}.json"
        file.write_bytes(msgspec.json.encode(Gates(LOOPBACK, (gate,))))
        return Process(
            name=name,
            command=(sys.executable, "-m", "services.embedded.links", str(file)),
            ready=PortsProbe(ports=(gate.port,)),
            address=f"{LOOPBACK}:{gate.port}",
            log=self._home.logs / f"{name}.log",
        )
