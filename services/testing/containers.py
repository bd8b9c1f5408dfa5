"""The containers: Kafka, Redis, hosts and placement instances, each a testcontainers' DockerContainer on one network.

Our own run as compose/compose.yaml runs them: not as root, on a read-only file system, without capabilities.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from docker.errors import APIError
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from services.embedded.kafka import OFFSETS_RETENTION_MINUTES
from services.testing.images import VARIABLES, Images

LABEL = "stigmergy.testing"
"""On every container and network of ours; its value is the run's name."""
FUNCTIONS, READABLE = "/functions/", 0o005
KAFKA_INSIDE, KAFKA_OUTSIDE, KAFKA_CONTROLLER = 19092, 9092, 9093
STOP_S_MAX = 40
"""A host drains for up to 30 s."""


@dataclass(frozen=True)
class Site:
    """Where containers stand: their network, images and label, and the key by which hosts know each other."""

    network: Network
    images: Images
    run: str
    cluster_key: str


class StartError(RuntimeError):
    """There is no engine, or a container can't be started; it says what to do."""


class StigmergyContainer(DockerContainer):
    """One part of a running Stigmergy, with what a test can do to it. `name` is also its name on the network."""

    def __init__(self, site: Site, image: str, name: str) -> None:
        super().__init__(image)
        self.site, self.name = site, name
        self.options: dict[str, object] = {"labels": {LABEL: site.run}, "hostname": name}
        self.with_name(f"stigmergy-{site.network.name[:8]}-{name}")
        self.with_network(site.network).with_network_aliases(name)

    def start(self) -> Self:
        """Makes the container and starts it. After `stop`, which removes it, this makes a new one."""
        self.with_kwargs(**self.options)
        try:
            return super().start()
        except APIError as fault:
            raise StartError(
                f"{self.name} can't be started from image {self.image}: {fault.explanation or fault}\n"
                f"build or pull the image, or name another one with {', '.join(VARIABLES.values())}"
            ) from fault

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Removes the container with all that it kept."""
        super().stop(force, delete_volume)
        self._container = None

    @property
    def started_ms(self) -> int:
        """When its process was started last, by the engine's clock."""
        container = self.get_wrapped_container()
        container.reload()
        return int(1_000 * datetime.fromisoformat(container.attrs["State"]["StartedAt"]).timestamp())

    @property
    def is_running(self) -> bool:
        """Whether the container is there and its process runs."""
        if self._container is None:
            return False
        self._container.reload()
        return bool(self._container.status == "running")

    @property
    def is_connected(self) -> bool:
        """Whether it is on the network."""
        container = self.get_wrapped_container()
        container.reload()
        return self.site.network.name in container.attrs["NetworkSettings"]["Networks"]

    def kill(self) -> None:
        """kill -9. `resume` starts it again, with what its file system had."""
        self.get_wrapped_container().kill()

    def halt(self) -> None:
        """SIGTERM, and wait: the process ends as it wants to."""
        self.get_wrapped_container().stop(timeout=STOP_S_MAX)

    def resume(self) -> None:
        """Starts the process again after `kill` or `halt`; after `stop`, in a new container."""
        if self._container is None:
            self.start()
        else:
            self._container.start()

    def restart(self) -> None:
        """`halt` and `resume`."""
        self.get_wrapped_container().restart(timeout=STOP_S_MAX)

    def cut_off(self) -> None:
        """From now on no packet reaches it or leaves it."""
        self._network_of_site().disconnect(self.get_container_id(), force=True)

    def reconnect(self) -> None:
        """Ends `cut_off`."""
        self._network_of_site().connect(self.get_container_id(), aliases=[self.name])

    def upgrade(self, image: str) -> None:
        """Stops it in peace, and starts it from another image under its old name."""
        self.halt()
        self.stop()
        self.image = image
        self.start()

    def log(self) -> str:
        """All that the process has written."""
        if self._container is None:
            return ""
        return bytes(self.get_wrapped_container().logs()).decode(errors="replace")

    def _network_of_site(self) -> Any:
        return self.get_docker_client().client.networks.get(self.site.network.name)


def kafka_container(site: Site, *, port: int) -> StigmergyContainer:
    """A broker that clients on this machine reach at `port`, and containers at kafka:19092."""
    container = StigmergyContainer(site, site.images.kafka, "kafka")
    address = container.get_docker_client().host()
    # Only a remote engine needs a port that others can reach.
    bind = "127.0.0.1" if address in ("localhost", "127.0.0.1") else "0.0.0.0"  # noqa: S104
    container.ports[f"{KAFKA_OUTSIDE}/tcp"] = (bind, port)  # type: ignore[assignment]  # docker takes a pair
    return container.with_envs(
        CLUSTER_ID="c3RpZ21lcmd5LXRlc3Rpbmc",
        KAFKA_NODE_ID="1",
        KAFKA_PROCESS_ROLES="broker,controller",
        KAFKA_LISTENERS=f"INSIDE://:{KAFKA_INSIDE},OUTSIDE://:{KAFKA_OUTSIDE},CONTROLLER://:{KAFKA_CONTROLLER}",
        KAFKA_ADVERTISED_LISTENERS=f"INSIDE://kafka:{KAFKA_INSIDE},OUTSIDE://{address}:{port}",
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER",
        KAFKA_INTER_BROKER_LISTENER_NAME="INSIDE",
        KAFKA_CONTROLLER_QUORUM_VOTERS=f"1@localhost:{KAFKA_CONTROLLER}",
        KAFKA_LOG_DIRS="/var/lib/kafka/data",
        KAFKA_AUTO_CREATE_TOPICS_ENABLE="false",
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS="0",
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR="1",
        KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS="8",
        KAFKA_OFFSETS_RETENTION_MINUTES=str(OFFSETS_RETENTION_MINUTES),
        KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR="1",
        KAFKA_TRANSACTION_STATE_LOG_MIN_ISR="1",
        KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS="4",
        KAFKA_BROKER_SESSION_TIMEOUT_MS="3000",
        KAFKA_BROKER_HEARTBEAT_INTERVAL_MS="500",
        KAFKA_HEAP_OPTS="-Xmx384m",
    )


def redis_container(site: Site) -> StigmergyContainer:
    """Redis that keeps nothing: pheromone is advice."""
    container = StigmergyContainer(site, site.images.redis, "redis")
    return container.with_command(["--save", "", "--appendonly", "no"])


def check_functions(folder: Path) -> None:
    """Raises StartError if hosts could not read it. The engine would make a folder that is not there, as root's."""
    if not folder.is_dir():
        raise StartError(f"functions: {folder.resolve()} is no folder\nname the one with the modules of your flows")
    if folder.stat().st_mode & READABLE != READABLE:
        raise StartError(f"functions: hosts can't read {folder.resolve()}\nchmod -R o+rX {folder}")


def host_container(site: Site, name: str, *, functions: Path | None) -> StigmergyContainer:
    """A host of capacity 1, whatever the machine can do: so placements do not depend on how busy it is."""
    command = ["host", "--name", name, "--capacity", "1"]
    container = _service(site, name)
    if functions is not None:
        command += ["--allow", FUNCTIONS]
        container.with_volume_mapping(functions.resolve(), FUNCTIONS)
    return container.with_command(command)


def placement_container(site: Site, name: str) -> StigmergyContainer:
    """A placement instance."""
    return _service(site, name).with_command(["placement", "--name", name])


def _service(site: Site, name: str) -> StigmergyContainer:
    container = StigmergyContainer(site, site.images.stigmergy, name)
    container.options |= {
        "init": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": "768m",
    }
    container.with_tmpfs_mount("/tmp", "size=256m")  # noqa: S108 - the container's own
    return container.with_envs(
        STIGMERGY_BOOTSTRAP=f"kafka:{KAFKA_INSIDE}",
        STIGMERGY_REDIS_URL="redis://redis:6379",
        STIGMERGY_CLUSTER_KEY=site.cluster_key,
        STIGMERGY_LOG_FORMAT="json",
    )
