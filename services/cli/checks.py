"""The checks of `stigmergy doctor`. Each looks at one thing and says what it found, and what is wrong has a remedy."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
import psutil

from services.embedded.cluster import read_cluster
from services.embedded.errors import StackError
from services.embedded.furniture import compare_topics
from services.embedded.home import Home
from services.embedded.jars import read_jar_set, wrong_jars
from services.embedded.java import find_java
from services.embedded.kafka import OFFSETS_RETENTION_MINUTES
from services.embedded.links import Gates
from services.embedded.ports import LOOPBACK, choose_ports, is_free
from services.embedded.probes import KafkaProbe, RedisProbe
from services.embedded.redis_server import redis_program
from services.embedded.remote import View, look
from services.embedded.stack import KAFKA_JARS
from services.embedded.world_check import measure_ways
from services.placement.furnish import INSTANCES
from services.settings import Settings
from topics.admin import ClusterError, broker_settings, connect

PYTHON_MIN = (3, 11)
DISK_BYTES_MIN = 2 * 2**30
MEMORY_BYTES_PER_BROKER = 400 * 2**20
MEMORY_BYTES_BESIDE = 300 * 2**20
CLOCK_SKEW_S_MAX = 2.0
CLOCK_EARLIEST_S = 1_700_000_000.0
"""November 2023: no machine that runs this code lives before it."""
DIFFERENCES_SHOWN_MAX = 3
OFFSETS_KEPT_DAYS_MIN = 30
"""A flow that stands still for longer than its offsets are kept does not know any more where it stopped."""
OFFSETS_RETENTION = "offsets.retention.minutes"
WAY_ERROR_MS_MAX, WAY_ERROR_SHARE_MAX = 5.0, 0.1
"""A way may be off by the larger of these."""


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found. A warning and a failure have a remedy."""

    check: str
    verdict: Verdict
    found: str
    remedy: str | None = None


def run_checks(settings: Settings) -> Iterator[Finding]:
    """All checks, in the order in which things depend on each other."""
    view = look(Home(settings.home))
    checks: dict[str, Callable[[], Finding]] = {
        "python": check_python,
        "java": lambda: check_java(settings),
        "kafka": lambda: check_kafka(settings),
        "ports": lambda: check_ports(settings, view),
        "disk": lambda: check_disk(settings.home),
        "memory": lambda: check_memory(settings, view),
        "clock": lambda: check_clock(settings, view),
        "broker": lambda: check_broker(settings, view),
        "redis": lambda: check_redis(settings, view),
        "world": lambda: check_world(settings, view),
        "topics": lambda: check_topics(settings, view),
        "offsets": lambda: check_offsets(settings, view),
        "placement": lambda: check_placement(view),
    }
    for name, check in checks.items():
        try:
            yield check()
        except StackError as fault:
            yield _failed(name, fault.what, fault.remedy)


def check_python() -> Finding:
    """The version that the project needs."""
    found = platform.python_version()
    if sys.version_info[:2] < PYTHON_MIN:
        wanted = ".".join(map(str, PYTHON_MIN))
        return _failed("python", found, f"install Python {wanted} or newer, then make clean setup")
    return _ok("python", found)


def check_java(settings: Settings) -> Finding:
    """Kafka needs one, unless it runs elsewhere."""
    if settings.bootstrap is not None:
        return _skipped("java", "not needed: the broker is your own")
    java = find_java()
    return _ok("java", f"{java.version} ({java.program})")


def check_kafka(settings: Settings) -> Finding:
    """Its jars: the user's, or those in the cache."""
    if settings.bootstrap is not None:
        return _skipped("kafka", "not needed: the broker is your own")
    if settings.kafka_home is not None:
        if not list((settings.kafka_home / "libs").glob("kafka_2.13-*.jar")):
            remedy = "let STIGMERGY_KAFKA_HOME point to an unpacked Kafka 4, or unset it"
            return _failed("kafka", f"{settings.kafka_home} holds no libs/kafka_2.13-*.jar", remedy)
        return _ok("kafka", f"your own, in {settings.kafka_home}")
    jar_set = read_jar_set(KAFKA_JARS)
    folder = settings.cache / "jars" / jar_set.folder_name
    wrong = wrong_jars(jar_set, folder)
    if wrong:
        size = f"{jar_set.size_bytes / 1e6:.0f} MB"
        return _warning(
            "kafka", f"{len(wrong)} of {len(jar_set.jars)} jars to fetch", f"stigmergy up fetches them ({size})"
        )
    return _ok("kafka", f"{len(jar_set.jars)} jars, checked, in {folder}")


def check_ports(settings: Settings, view: View) -> Finding:
    """Whether servers can listen on the loopback interface, on the ports that clients know."""
    choose_ports([None])  # raises when there is none
    cluster = read_cluster(Home(settings.home).cluster)
    if cluster is None:
        return _ok("ports", f"{LOOPBACK} has free ports")
    if view.holder is not None:
        return _ok("ports", f"{len(cluster.ports)} in use by the stack")
    taken = [port for port in cluster.ports if not is_free(port)]
    if taken:
        listed = ", ".join(map(str, taken))
        return _warning("ports", f"taken by others: {listed}", "see who with ss -ltnp; stigmergy up takes other ports")
    return _ok("ports", f"all {len(cluster.ports)} recorded ports are free")


def check_disk(home: Path) -> Finding:
    """Room for the log of Kafka."""
    existing = next(path for path in (home, *home.parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    found = f"{free_bytes / 2**30:.1f} GiB free for {home}"
    if not os.access(existing, os.W_OK):
        return _failed(
            "disk", f"{existing} cannot be written to", "correct its owner, or choose another folder with --home"
        )
    if free_bytes < DISK_BYTES_MIN:
        return _failed("disk", found, f"free {DISK_BYTES_MIN / 2**30:.0f} GiB, or choose another --home")
    return _ok("disk", found)


def check_memory(settings: Settings, view: View) -> Finding:
    """Room for what is not running yet."""
    free_bytes = psutil.virtual_memory().available
    found = f"{free_bytes / 2**30:.1f} GiB free"
    brokers = 0 if settings.bootstrap is not None or view.holder is not None else settings.brokers
    needed_bytes = MEMORY_BYTES_BESIDE + brokers * MEMORY_BYTES_PER_BROKER
    if view.holder is None and free_bytes < needed_bytes:
        return _failed("memory", found, f"free {needed_bytes / 2**30:.1f} GiB, or start fewer brokers")
    return _ok("memory", found)


def check_clock(settings: Settings, view: View) -> Finding:
    """Event time and retention trust the clock: it must be of this decade, and agree with that of Redis."""
    now_s = time.time()
    if now_s < CLOCK_EARLIEST_S:
        return _failed("clock", time.strftime("%Y-%m-%d", time.gmtime(now_s)), "set the time, for example with chrony")
    url = _redis_url(settings, view)
    if url is None or not RedisProbe(url=url).answers():
        return _ok("clock", "plausible (nothing runs to compare it with)")
    import redis

    with redis.Redis.from_url(url) as client:
        before_s = time.time()
        seconds, microseconds = client.time()
        after_s = time.time()
    told_s = seconds + microseconds / 1e6
    skew_s = max(0.0, before_s - told_s, told_s - after_s)  # within the time that the answer took nobody can tell
    found = f"{skew_s:.3f} s from that of Redis"
    if skew_s > CLOCK_SKEW_S_MAX:
        return _failed("clock", found, "synchronise both machines' clocks, for example with chrony")
    return _ok("clock", found)


def check_broker(settings: Settings, view: View) -> Finding:
    """Every broker of the stack, or the user's own."""
    if settings.bootstrap is not None:
        if KafkaProbe(bootstrap=settings.bootstrap).answers():
            return _ok("broker", f"yours answers at {settings.bootstrap}")
        return _failed("broker", f"no answer at {settings.bootstrap}", "start it, or correct STIGMERGY_BOOTSTRAP")
    seen = [process for process in view.seen if isinstance(process.record.ready, KafkaProbe)]
    if not seen:
        return _skipped("broker", "not running; stigmergy up starts it")
    silent = [process.record for process in seen if not process.answers]
    if silent:
        names = ", ".join(process.name for process in silent)
        return _failed("broker", f"no answer from {names}", f"it may be restarting; else see {silent[0].log}")
    return _ok("broker", f"{len(seen)} answering")


def check_redis(settings: Settings, view: View) -> Finding:
    """The stack's, or the user's own; before the first start, whether there is a program to run."""
    url = _redis_url(settings, view)
    if url is None:
        return _skipped("redis", f"not running; stigmergy up starts {redis_program()}")
    if RedisProbe(url=url).answers():
        return _ok("redis", "answering")
    return _failed("redis", "no answer", "it may be restarting; else see logs/redis.log in the home folder")


def check_world(settings: Settings, view: View) -> Finding:
    """Whether the regions are as far from each other as the world says."""
    world = view.record.world if view.holder is not None and view.record is not None else None
    if world is None:
        return _skipped("world", "none is played; stigmergy up --world FILE plays one")
    try:
        gates = msgspec.json.decode(Home(settings.home).links.read_bytes(), type=Gates)
        measured = list(measure_ways(gates))
    except FileNotFoundError:
        return _ok("world", f"{world.name}: nothing lies between its regions")
    except OSError as fault:
        return _failed(
            "world", f"{world.name}: a gate does not answer: {fault}", "see logs/links.log in the home folder"
        )
    worst = max(measured, key=lambda way: abs(way.error_ms))
    wanted_ms = 2 * worst.gate.delay_ms
    found = (
        f"{world.name}: {len(measured)} ways; farthest off: {worst.gate.client} to {worst.gate.broker}, "
        f"{worst.round_trip_ms:.1f} ms instead of {wanted_ms:.1f}"
    )
    if abs(worst.error_ms) > max(WAY_ERROR_MS_MAX, WAY_ERROR_SHARE_MAX * wanted_ms):
        return _warning("world", found, "the machine is too busy to play this world well; stop some of what runs on it")
    return _ok("world", found)


def check_topics(settings: Settings, view: View) -> Finding:
    """Whether the topics are there and as the catalogue says."""
    bootstrap = _bootstrap(settings, view)
    if bootstrap is None:
        return _skipped("topics", "no broker to ask")
    differences = compare_topics(bootstrap)
    if differences:
        shown = differences[:DIFFERENCES_SHOWN_MAX]
        found = f"{len(differences)} wrong: {'; '.join(difference.what for difference in shown)}"
        tool = _kafka_configs(settings, bootstrap)
        return _failed("topics", found, "; ".join(dict.fromkeys(difference.remedy(tool) for difference in shown)))
    return _ok("topics", "all as the catalogue says")


def check_offsets(settings: Settings, view: View) -> Finding:
    """For how long the brokers remember where a flow stopped that does not run."""
    bootstrap = _bootstrap(settings, view)
    if bootstrap is None:
        return _skipped("offsets", "no broker to ask")
    try:
        found = broker_settings(connect(bootstrap), OFFSETS_RETENTION)
    except ClusterError as fault:
        raise StackError(f"the brokers' settings could not be read: {fault}", "may this user describe them?") from fault
    if not found:
        return _skipped("offsets", f"the brokers do not tell {OFFSETS_RETENTION}")
    broker, minutes = min(found.items(), key=lambda each: int(each[1]))
    days = int(minutes) / (24 * 60)
    told = f"kept for {days:,.3g} days after their last commit"
    if days < OFFSETS_KEPT_DAYS_MIN:
        return _warning(
            "offsets",
            f"{told} (broker {broker}): a flow that stands still for longer does not know where to go on, and parks",
            f"set {OFFSETS_RETENTION}={OFFSETS_RETENTION_MINUTES} for each broker (server.properties, or "
            "KAFKA_OFFSETS_RETENTION_MINUTES in a container) and restart them one after the other",
        )
    return _ok("offsets", told)


def check_placement(view: View) -> Finding:
    """The instances of the placement service, of which one acts at a time."""
    seen = [process for process in view.seen if process.record.name in INSTANCES]
    if not seen:
        return _skipped("placement", "not running; stigmergy up starts two instances")
    silent = [process.record for process in seen if not process.answers]
    if len(silent) == len(seen):
        return _failed(
            "placement", "no instance answers: flows run on, but none is placed or moved", f"see {silent[0].log}"
        )
    if silent:
        return _warning(
            "placement", f"no answer from {silent[0].name}", f"it may be restarting; else see {silent[0].log}"
        )
    return _ok("placement", f"{len(seen)} instances answering")


def _kafka_configs(settings: Settings, bootstrap: str) -> str:
    """How to run Kafka's tool of this name. Who has a Kafka has it; the embedded one comes without scripts."""
    if settings.bootstrap is not None:
        return f"kafka-configs --bootstrap-server {bootstrap}"
    jars = settings.cache / "jars" / read_jar_set(KAFKA_JARS).folder_name
    libs = jars if settings.kafka_home is None else settings.kafka_home / "libs"
    return f"java -cp '{libs}/*' kafka.admin.ConfigCommand --bootstrap-server {bootstrap}"


def _bootstrap(settings: Settings, view: View) -> str | None:
    """Where brokers answer; None if none does."""
    bootstrap = settings.bootstrap or (view.record.bootstrap if view.holder is not None and view.record else None)
    return bootstrap if bootstrap and KafkaProbe(bootstrap=bootstrap).answers() else None


def _redis_url(settings: Settings, view: View) -> str | None:
    return settings.redis_url or (view.record.redis_url if view.holder is not None and view.record else None) or None


def _ok(check: str, found: str) -> Finding:
    return Finding(check=check, verdict=Verdict.OK, found=found)


def _skipped(check: str, found: str) -> Finding:
    return Finding(check=check, verdict=Verdict.SKIPPED, found=found)


def _warning(check: str, found: str, remedy: str) -> Finding:
    return Finding(check=check, verdict=Verdict.WARNING, found=found, remedy=remedy)


def _failed(check: str, found: str, remedy: str) -> Finding:
    return Finding(check=check, verdict=Verdict.FAILED, found=found, remedy=remedy)
