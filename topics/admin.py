"""Topics on a live cluster: created when missing, and compared with the catalogue when they exist.

A topic that is not as declared is never silently used: `ensure` reports every difference, and its caller decides. It
changes nothing but the number of partitions, upwards, of topics that are declared to grow with others. Many processes
may call `ensure` at once; the one that comes second finds the topic there.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, NewPartitions, NewTopic

from topics.topic import Declaration, copies_on

POLL_S = 0.05


class ClusterError(Exception):
    """The cluster did not answer in time, or refused to create a topic."""


@dataclass(frozen=True)
class Difference:
    """One way in which a topic on the cluster is not as declared. `found` None: the topic is not there."""

    topic: str
    setting: str
    expected: str
    found: str | None

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy()}"

    @property
    def what(self) -> str:
        """The difference alone."""
        if self.found is None:
            return f"{self.topic}: not on the cluster"
        return f"{self.topic}: {self.setting} is {self.found}, expected {self.expected}"

    def remedy(self, kafka_configs: str = "kafka-configs") -> str:
        """What a person can do about it; `kafka_configs` is how they run Kafka's tool of this name."""
        if self.found is None:
            return "stigmergy up creates it, after stigmergy down if it runs"
        if self.setting == "partitions":
            return "keys would change partition, so drain what uses the topic, delete it and let it be created again"
        if self.setting == "replication":
            return "reassign its partitions with kafka-reassign-partitions"
        return f"set it with {kafka_configs} --alter --topic {self.topic} --add-config {self.setting}={self.expected}"


@dataclass(frozen=True)
class Ensured:
    """What `ensure` did and found: the topics that it created, and how topics differ from their declarations."""

    created: tuple[str, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Found:
    """A topic as it is on a cluster; `replication` is that of its least replicated partition."""

    partitions: int
    replication: int
    settings: Mapping[str, str]


def connect(bootstrap: str) -> AdminClient:
    """An admin client for the cluster at these addresses."""
    return AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": 10_000, "log_level": 0})


def ensure(admin: AdminClient, declarations: Sequence[Declaration], *, timeout_s: float = 30.0) -> Ensured:
    """Creates what is missing, topics and partitions of those that may grow, waits until it can be used, and compares
    all of them.

    Raises ClusterError when no broker answers in time, or when one refuses to create a topic or partitions.
    """
    deadline_s = time.monotonic() + timeout_s
    cluster = _metadata(admin, deadline_s)
    missing = [declared for declared in declarations if declared.name not in cluster.topics]
    small = [declared for declared in declarations if declared.may_grow and _is_small(cluster, declared)]
    created = _create(admin, missing, _copies(admin, cluster, deadline_s), deadline_s) if missing else ()
    if small:
        _enlarge(admin, small, deadline_s)
    while not all(_usable(cluster, each.name) for each in (*missing, *small)) or any(
        _is_small(cluster, each) for each in small
    ):
        time.sleep(POLL_S)
        cluster = _metadata(admin, deadline_s)
    return Ensured(created, verify(admin, declarations, timeout_s=_left_s(deadline_s)))


def verify(
    admin: AdminClient, declarations: Sequence[Declaration], *, timeout_s: float = 30.0
) -> tuple[Difference, ...]:
    """Compares topics on the cluster with their declarations, and changes nothing."""
    deadline_s = time.monotonic() + timeout_s
    cluster = _metadata(admin, deadline_s)
    settings = _settings(admin, [d.name for d in declarations if d.name in cluster.topics], deadline_s)
    found = {
        name: Found(
            partitions=len(cluster.topics[name].partitions),
            replication=min(len(partition.replicas) for partition in cluster.topics[name].partitions.values()),
            settings=settings[name],
        )
        for name in settings
    }
    copies = _copies(admin, cluster, deadline_s)
    return tuple(
        difference for declared in declarations for difference in compare(declared, found.get(declared.name), copies)
    )


def message_bytes_max(admin: AdminClient, topics: Sequence[str], *, timeout_s: float = 30.0) -> dict[str, int]:
    """The largest batch that each of these topics takes, without those that were deleted or that we may not describe.

    Raises ClusterError when no broker answers.
    """
    settings = _settings(admin, topics, time.monotonic() + timeout_s, or_denied=True)
    return {name: int(each["max.message.bytes"]) for name, each in settings.items()}


def broker_settings(admin: AdminClient, setting: str, *, timeout_s: float = 30.0) -> dict[int, str]:
    """What each broker that answers has for a setting. Raises ClusterError."""
    deadline_s = time.monotonic() + timeout_s
    brokers = _metadata(admin, deadline_s).brokers
    resources = [ConfigResource(ConfigResource.Type.BROKER, str(broker)) for broker in sorted(brokers)]
    found = {}
    for resource, future in admin.describe_configs(resources, request_timeout=_left_s(deadline_s)).items():
        try:
            entries = _result(future, f"describe broker {resource.name}", deadline_s)
        except KafkaException as fault:
            raise ClusterError(f"cannot describe broker {resource.name}: {fault.args[0].str()}") from fault
        if setting in entries:
            found[int(resource.name)] = str(entries[setting].value)
    return found


def compare(declared: Declaration, found: Found | None, copies: int) -> list[Difference]:
    """All differences between a topic as declared and as found on a cluster that keeps this many copies."""
    if found is None:
        return [Difference(declared.name, "topic", "present", None)]
    expected = {
        "partitions": str(declared.partitions),
        "replication": str(copies),
        **declared.settings(copies),
    }
    actual = {"partitions": str(found.partitions), "replication": str(found.replication), **found.settings}
    return [
        Difference(declared.name, setting, value, actual.get(setting, "unknown to the broker"))
        for setting, value in expected.items()
        if value != actual.get(setting)
    ]


def _create(admin: AdminClient, declarations: Sequence[Declaration], copies: int, deadline_s: float) -> tuple[str, ...]:
    """Asks for all topics at once; a topic that someone else made in the meantime is as good as ours."""
    wanted = [
        NewTopic(
            declared.name,
            num_partitions=declared.partitions,
            replication_factor=copies,
            config=declared.settings(copies),
        )
        for declared in declarations
    ]
    created = []
    for name, future in admin.create_topics(wanted, request_timeout=_left_s(deadline_s)).items():
        try:
            _result(future, f"create topic {name}", deadline_s)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise ClusterError(f"the cluster refused to create topic {name}: {fault.args[0].str()}") from fault
        else:
            created.append(name)
    return tuple(sorted(created))


def _enlarge(admin: AdminClient, declarations: Sequence[Declaration], deadline_s: float) -> None:
    """Asks for the missing partitions of all topics at once; those that someone else added meanwhile are as good."""
    wanted = [NewPartitions(declared.name, declared.partitions) for declared in declarations]
    for name, future in admin.create_partitions(wanted, request_timeout=_left_s(deadline_s)).items():
        try:
            _result(future, f"add partitions to topic {name}", deadline_s)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.INVALID_PARTITIONS:
                raise ClusterError(
                    f"the cluster refused to add partitions to topic {name}: {fault.args[0].str()}"
                ) from fault


def _copies(admin: AdminClient, cluster: ClusterMetadata, deadline_s: float) -> int:
    """Copies of each partition on this cluster. One of its brokers is asked; where it may not tell, size decides."""
    broker = ConfigResource(ConfigResource.Type.BROKER, str(min(cluster.brokers)))
    laid_down = None
    try:
        asked = admin.describe_configs([broker], request_timeout=_left_s(deadline_s))
        entry = _result(asked[broker], f"describe broker {broker.name}", deadline_s)["default.replication.factor"]
        if not entry.is_default:
            laid_down = int(entry.value)
    except KafkaException as fault:
        if fault.args[0].code() != KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            raise ClusterError(f"cannot describe broker {broker.name}: {fault.args[0].str()}") from fault
    return copies_on(len(_broker_ids(cluster)), laid_down)


def _settings(
    admin: AdminClient, names: Sequence[str], deadline_s: float, *, or_denied: bool = False
) -> dict[str, dict[str, str]]:
    """The settings of each of these topics, without those that were deleted in the meantime.

    `or_denied`: and without those that we may not describe.
    """
    if not names:
        return {}
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    passed_over = {KafkaError.UNKNOWN_TOPIC_OR_PART} | ({KafkaError.TOPIC_AUTHORIZATION_FAILED} if or_denied else set())
    settings = {}
    for resource, future in admin.describe_configs(resources, request_timeout=_left_s(deadline_s)).items():
        try:
            entries = _result(future, f"describe topic {resource.name}", deadline_s)
        except KafkaException as fault:
            if fault.args[0].code() not in passed_over:
                raise ClusterError(f"cannot describe topic {resource.name}: {fault.args[0].str()}") from fault
        else:
            settings[resource.name] = {name: str(entry.value) for name, entry in entries.items()}
    return settings


def _metadata(admin: AdminClient, deadline_s: float) -> ClusterMetadata:
    try:
        return admin.list_topics(timeout=_left_s(deadline_s))
    except KafkaException as fault:
        raise ClusterError(f"no broker answered: {fault.args[0].str()}; is Kafka up? Try stigmergy doctor") from fault


def _usable(cluster: ClusterMetadata, name: str) -> bool:
    """Whether a topic is there and each of its partitions has a leader."""
    topic = cluster.topics.get(name)
    return topic is not None and topic.error is None and all(p.leader >= 0 for p in topic.partitions.values())


def _is_small(cluster: ClusterMetadata, declared: Declaration) -> bool:
    """Whether a topic is there with fewer partitions than declared."""
    topic = cluster.topics.get(declared.name)
    return topic is not None and topic.error is None and len(topic.partitions) < declared.partitions


def _broker_ids(cluster: ClusterMetadata) -> set[int]:
    """All brokers of the cluster. One that is down is not in the metadata, but still in the lists of replicas."""
    replicas = (
        replica
        for topic in cluster.topics.values()
        for partition in topic.partitions.values()
        for replica in partition.replicas
    )
    return set(cluster.brokers).union(replicas)


def _result(future: "Future[Any]", what: str, deadline_s: float) -> Any:
    try:
        return future.result(timeout=_left_s(deadline_s))
    except TimeoutError as fault:
        raise ClusterError(f"the cluster did not {what} in time; is a broker overloaded?") from fault


def _left_s(deadline_s: float) -> float:
    """Seconds until the deadline."""
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise ClusterError("the cluster did not finish in time; is a broker overloaded or down? Try stigmergy doctor")
    return left_s
