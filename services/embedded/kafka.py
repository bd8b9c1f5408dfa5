"""Apache Kafka in KRaft mode: each broker is a controller too, and all of them are the quorum.

Everything listens on the loopback interface only. Logs go to files. An acknowledged record is in the kernel's page
cache, so killing a broker loses none.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from services.embedded.cluster import Cluster, Site
from services.embedded.errors import StartError
from services.embedded.home import Home
from services.embedded.java import find_java
from services.embedded.ports import LOOPBACK
from services.embedded.probes import KafkaProbe
from services.embedded.process import Process
from services.embedded.spawn import spawn
from topics.topic import COPIES_MAX

FORMAT_TIMEOUT_S = 60.0
START_TIMEOUT_S = 120.0
"""A broker that was killed reads all its logs again before it serves, on a machine that may have much else to do."""
OFFSETS_RETENTION_MINUTES = 10 * 365 * 24 * 60
"""Practically for ever: by default a flow that stands still for a week would not know any more where it stopped."""

LOG4J_PROPERTIES = """\
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:stigmergy.logs}/server.log
appender.file.filePattern = ${sys:stigmergy.logs}/server.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %-5p %c{1} %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
# It lists all 350 settings five times at each start; server.properties has those that matter.
logger.settings.name = org.apache.kafka.common.config.AbstractConfig
logger.settings.level = WARN
"""

FAST_FAILOVER = {
    "broker.session.timeout.ms": 1500,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1000,
    "controller.quorum.election.timeout.ms": 500,
    "replica.lag.time.max.ms": 3000,
}
"""Another broker leads 2-4 s after one was killed, instead of 9-12 s (DESIGN section 10)."""

FAST_RETURN = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
"""A killed broker may register again when its session has ended: after 3 s instead of 9. Nobody else would lead."""


def prepare_brokers(
    home: Home,
    cluster: Cluster,
    class_path: str,
    *,
    replication_max: int = COPIES_MAX,
    after: tuple[str, ...] = (),
    optimises_late: bool = True,
) -> list[Process]:
    """Writes each broker's settings, formats its storage if it is new, and describes its process."""
    java = find_java()
    for site in cluster.sites:
        folder = home.kafka / site.name
        folder.mkdir(parents=True, exist_ok=True)
        (home.logs / site.name).mkdir(parents=True, exist_ok=True)
        (folder / "log4j2.properties").write_text(LOG4J_PROPERTIES)
        lines = [f"{key}={value}" for key, value in broker_properties(home, cluster, site, replication_max).items()]
        (folder / "server.properties").write_text("\n".join(lines) + "\n")
    _format_new(home, cluster, java.program, class_path)
    options = _heap_options(len(cluster.sites), optimises_late=optimises_late)
    brokers = [_describe(home, site, (java.program, *options), class_path) for site in cluster.sites]
    return [replace(broker, after=after) for broker in brokers]


def broker_properties(
    home: Home, cluster: Cluster, site: Site, replication_max: int = COPIES_MAX
) -> dict[str, str | int]:
    """The settings of one broker."""
    replication = min(replication_max, len(cluster.sites))
    in_sync_min = max(1, replication - 1)
    properties: dict[str, str | int] = {
        "node.id": site.id,
        "process.roles": "broker,controller",
        "broker.rack": site.region,
        "log.dirs": str(home.kafka / site.name / "data"),
        "listeners": f"PLAINTEXT://{site.address},CONTROLLER://{LOOPBACK}:{site.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{site.address}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(f"{s.id}@{LOOPBACK}:{s.controller_port}" for s in cluster.sites),
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        # Few partitions for Kafka's own topics: each costs time at the first use and at every start.
        "offsets.topic.num.partitions": 8,
        "offsets.topic.replication.factor": replication,
        "offsets.retention.minutes": OFFSETS_RETENTION_MINUTES,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": in_sync_min,
        "share.coordinator.state.topic.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": replication,
        "share.coordinator.state.topic.min.isr": in_sync_min,
        "default.replication.factor": replication,
        "min.insync.replicas": in_sync_min,
        "replica.fetch.max.bytes": 16 * 2**20,
    }
    properties |= _door_properties(properties, site)
    return properties | (FAST_FAILOVER if len(cluster.sites) > 1 else FAST_RETURN)


def _door_properties(properties: dict[str, str | int], site: Site) -> dict[str, str | int]:
    """In a world: a listener for each region, known to its clients at the gate before it.

    Brokers are clients of each other, as from their own region: replication takes the same ways as everybody else. The
    quorum of controllers does not: it would elect a new leader at every hiccup of the machine that plays the world.
    """
    if not site.doors:
        return {}
    names = {door.region: f"R{number}" for number, door in enumerate(site.doors)}
    listens = [f"{names[door.region]}://{LOOPBACK}:{door.port}" for door in site.doors]
    tells = [f"{names[door.region]}://{door.address}" for door in site.doors]
    maps = [f"{name}:PLAINTEXT" for name in names.values()]
    return {
        "listeners": ",".join([str(properties["listeners"]), *listens]),
        "advertised.listeners": ",".join([str(properties["advertised.listeners"]), *tells]),
        "listener.security.protocol.map": ",".join([str(properties["listener.security.protocol.map"]), *maps]),
        "inter.broker.listener.name": names[site.region],
    }


def _describe(home: Home, site: Site, java: tuple[str, ...], class_path: str) -> Process:
    folder, logs = home.kafka / site.name, home.logs / site.name
    return Process(
        name=site.name,
        command=(
            *java,
            *_common_options(folder, logs, class_path),
            "kafka.Kafka",
            str(folder / "server.properties"),
        ),
        ready=KafkaProbe(bootstrap=site.address, broker_id=site.id),
        address=site.address,
        log=logs / "output.log",
        start_timeout_s=START_TIMEOUT_S,
        more_logs=(logs / "server.log",),
    )


LATE_OPTIMISING = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times the defaults: code that only the start needs is not worth optimising. Saves a third of the start's CPU."""


def _heap_options(brokers: int, *, optimises_late: bool) -> tuple[str, ...]:
    """One broker gets the optimising compiler, for its throughput; several share a machine and get less each."""
    if brokers == 1:
        return ("-Xmx512m", *(LATE_OPTIMISING if optimises_late else ()))
    return ("-Xmx320m", "-XX:TieredStopAtLevel=1")


def _common_options(folder: Path, logs: Path, class_path: str) -> tuple[str, ...]:
    return (
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={logs / 'crash-%p.log'}",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-Dstigmergy.logs={logs}",
        "-cp",
        class_path,
    )


def _format_new(home: Home, cluster: Cluster, java: str, class_path: str) -> None:
    """Formats the storage of brokers that have none; of all of them at once, since each takes a second of Java."""
    runs = {}
    try:
        for site in cluster.sites:
            folder, logs = home.kafka / site.name, home.logs / site.name
            if (folder / "data" / "meta.properties").exists():
                continue
            tool = ("kafka.tools.StorageTool", "format", "-t", cluster.id, "-c", str(folder / "server.properties"))
            command = (java, "-XX:TieredStopAtLevel=1", *_common_options(folder, logs, class_path), *tool)
            runs[site.name] = spawn([*command, "--ignore-formatted"], log=logs / "format.log")
        for name, run in runs.items():
            if run.wait(FORMAT_TIMEOUT_S) != 0:
                raise StartError(*_explain_format(name, home.logs / name / "format.log"))
    finally:
        for run in runs.values():
            if run.poll() is None:
                run.kill()
                run.wait()


def _explain_format(name: str, log: Path) -> tuple[str, str]:
    lines: Sequence[str] = log.read_text(errors="replace").splitlines()[-15:]
    shown = "\n".join(f"  {line}" for line in lines)
    return f"the storage of {name} could not be formatted:\n{shown}", f"the whole log: {log}"
