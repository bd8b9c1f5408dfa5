"""A Stigmergy that runs, whoever has started it: what a test asks of it from outside."""

from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from services.placement.params import LEASE
from services.registry.lease_holder import lease_holder
from services.registry.liveness import live_hosts
from services.registry.snapshot import TIMEOUT_S
from services.settings import load_settings
from services.testing.commands import run_command
from services.testing.flow import Flow, own_names, submit
from services.testing.waiting import PATIENCE_S, until
from topics.flow.file import parse_graph
from topics.messages import HostMetrics


class RunningStigmergy:
    """By itself it is for one that you have started, such as with compose/up: `RunningStigmergy("localhost:9092")`.

    `bootstrap` is where Kafka is for clients like your own.
    """

    def __init__(self, bootstrap: str, *, patience_s: float = PATIENCE_S) -> None:
        self.bootstrap = bootstrap
        self._patience_s = patience_s
        self._admin: AdminClient | None = None

    def until_kafka_answers(self) -> None:
        """Waits for the broker."""
        until(lambda: self.admin.list_topics(timeout=2.0).brokers, "Kafka answers", patience_s=self._patience_s)

    @property
    def admin(self) -> AdminClient:
        """Kafka's admin client, for topics and all else."""
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self._admin

    def create_topic(self, name: str, *, partitions: int = 2, **config: str) -> None:
        """Makes a topic, and waits until it can be used."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(timeout=TIMEOUT_S)

        def has_leaders() -> bool:
            found = self.admin.list_topics(name, timeout=TIMEOUT_S).topics[name].partitions
            return len(found) == partitions and all(each.leader >= 0 for each in found.values())

        until(has_leaders, f"topic {name} has leaders", patience_s=self._patience_s)

    def drain(self, host: str) -> None:
        """Everything leaves this host; returns when it is empty."""
        self.command("drain", host)

    def open(self, host: str) -> None:
        """Ends `drain`."""
        self.command("drain", host, "--undo")

    def live_hosts(self) -> set[str]:
        """The names of the hosts that report."""
        return set(self._live())

    def active_placement(self) -> str | None:
        """The name of the placement instance that acts, as the log of leases tells."""
        return lease_holder(self.bootstrap, LEASE)

    def command(self, *arguments: str) -> Any:
        """`stigmergy ARGUMENTS... --json` on this cluster; what it printed. Raises CommandError."""
        return run_command(self.bootstrap, *arguments)

    def submit(self, flow: Path | str, *, keep_names: bool = False, patience_s: float | None = None) -> Flow:
        """Submits a flow (a file, or its text), makes the topics that it needs, and waits until it runs.

        The flow and its topics get names of their own, so that tests do not meet; `keep_names` leaves them as they are.
        """
        text = flow.read_text() if isinstance(flow, Path) else flow
        graph = parse_graph(text, filename=str(flow) if isinstance(flow, Path) else "<flow>")
        return submit(self, graph if keep_names else own_names(graph), patience_s=patience_s or self._patience_s)

    def _live(self) -> dict[str, HostMetrics]:
        return live_hosts(self.bootstrap, silent_s=load_settings().settings.silent_s)
