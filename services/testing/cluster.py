"""A whole Stigmergy in containers, with what a test does to it; what it asks of it is in running.py."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from docker.errors import DockerException
from testcontainers.core.network import Network

from services.embedded.ports import choose_ports
from services.registry.snapshot import read_registry
from services.testing.containers import (
    LABEL,
    Site,
    StartError,
    StigmergyContainer,
    check_functions,
    host_container,
    kafka_container,
    placement_container,
    redis_container,
)
from services.testing.images import Images
from services.testing.running import RunningStigmergy
from services.testing.waiting import PATIENCE_S, until

RUN_VARIABLE = "STIGMERGY_TEST_RUN"
"""Names the run, in the label of all its containers: whoever sets it can remove what a killed run has left."""


class Stigmergy(RunningStigmergy):
    """Kafka, Redis, hosts and placement instances. Use it in a `with` statement, or `start` and `stop` it.

    - `hosts`, `placements`: the names of the hosts and of the placement instances;
    - `functions`: a folder with the modules of your python operators; it must be readable for everybody;
    - `images`: what the containers are made from; by default what the environment names.

    `kafka`, `redis`, `hosts` and `placements` are the containers, the latter two by name.
    """

    def __init__(
        self,
        *,
        hosts: Sequence[str] = ("host-1", "host-2"),
        placements: Sequence[str] = ("placement-1",),
        functions: Path | None = None,
        images: Images | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        if functions is not None:
            check_functions(functions)
        run = os.environ.get(RUN_VARIABLE) or f"pid-{os.getpid()}"
        try:
            self._network = Network(docker_network_kw={"labels": {LABEL: run}})
        except DockerException as fault:
            raise StartError(f"no container engine answers: {fault}\nstart it; see: docker info") from fault
        self._functions = functions
        self.site = Site(
            network=self._network,
            images=images if images is not None else Images.from_environment(),
            run=run,
            cluster_key=secrets.token_hex(32),
        )
        (port,) = choose_ports([None])
        self.kafka = kafka_container(self.site, port=port)
        super().__init__(f"{self.kafka.get_docker_client().host()}:{port}", patience_s=patience_s)
        self.redis = redis_container(self.site)
        self.hosts = {name: self._host(name) for name in hosts}
        self.placements = {name: placement_container(self.site, name) for name in placements}

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Starts all containers; returns when all hosts report and a placement instance is active."""
        self._network.create()
        self.kafka.start()
        self.redis.start()
        self.until_kafka_answers()
        for container in (*self.placements.values(), *self.hosts.values()):
            container.start()
        self.until_ready()
        return self

    def stop(self) -> None:
        """Removes all containers with their volumes, and their network. May be called twice."""

        def remove(container: StigmergyContainer) -> None:
            with suppress(Exception):  # the others must go, too
                container.stop()

        with ThreadPoolExecutor() as pool:
            list(pool.map(remove, self.containers()))
        with suppress(Exception):
            self._network.remove()

    def containers(self) -> Iterator[StigmergyContainer]:
        """All of them, in the order of their start."""
        yield from (self.kafka, self.redis, *self.placements.values(), *self.hosts.values())

    def until_ready(self, hosts: Iterable[str] | None = None) -> None:
        """Waits until these hosts (all, if none are named) report and a placement instance is active.

        A host counts when the process that reports is the one that its container runs now, and not the one before.
        """
        wanted = sorted(self.hosts if hosts is None else hosts)
        started_ms = {name: self.hosts[name].started_ms for name in wanted}

        def are_ready() -> bool:
            live, known = self._live(), read_registry(self.bootstrap).hosts
            return all(
                name in live
                and name in known
                and known[name].boot_id == live[name].boot_id
                and known[name].started_ms >= started_ms[name]
                for name in wanted
            )

        until(are_ready, f"hosts {', '.join(wanted)} report", patience_s=self._patience_s)
        until(self.active_placement, "a placement instance is active", patience_s=self._patience_s)

    def add_host(self, name: str) -> StigmergyContainer:
        """One host more; returns when it reports."""
        self.hosts[name] = self._host(name).start()
        self.until_ready([name])
        return self.hosts[name]

    def remove_host(self, name: str) -> None:
        """The host ends in peace, and its container goes."""
        container = self.hosts.pop(name)
        container.halt()
        container.stop()

    def _host(self, name: str) -> StigmergyContainer:
        return host_container(self.site, name, functions=self._functions)
