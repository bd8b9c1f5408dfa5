"""Kafka Streams and Flink: their jars come as Kafka's do, and their programs are compiled for each run.

A JVM takes a while to compile what it runs, so these two read a backlog several times as long and are measured in its
second half.
"""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.jars import ensure_jars, read_jar_set
from services.embedded.java import java_program
from services.embedded.spawn import leashed
from services.lab.dataplane.contestants import SIDES, Contestant
from services.lab.dataplane.ground import BenchError, Ground
from services.lab.dataplane.trial import Patience

KAFKA_STREAMS, FLINK = "Kafka Streams", "Flink"
PROGRAMS = {KAFKA_STREAMS: ("kafka-streams.jars", "KafkaStreamsSide"), FLINK: ("flink.jars", "FlinkSide")}
BACKLOG_ROUNDS = 4
PATIENCE = Patience(warm_up_s=12.0, warm_up_share=0.5, measured_s_max=12.0)
OPENED = ("java.lang", "java.util", "java.time")
"""Packages into which Flink's serializers look."""


def on_jvm(ground: Ground, wanted: Iterable[str] = tuple(PROGRAMS)) -> list[Contestant]:
    """Those of the wanted ones that can run here; what keeps the others away is said."""
    found = []
    for name in wanted:
        try:
            found.append(_contestant(ground, name))
        except (BenchError, StackError) as fault:
            ground.warn(f"{name} is left out: {fault}")
    return found


def _contestant(ground: Ground, name: str) -> Contestant:
    command = compiled(ground, name)
    return Contestant(name, lambda bout: [[*command, *bout.arguments]], PATIENCE)


def compiled(ground: Ground, name: str) -> list[str]:
    """The command that runs one of the programs, to which its arguments are added."""
    jars, main_class = PROGRAMS[name]
    java = java_program()
    javac = shutil.which("javac", path=str(Path(java).parent))
    if javac is None:
        raise BenchError(f"no javac beside {java}; install a JDK (Debian: apt install openjdk-17-jdk-headless)")
    ground.say(f"fetching the jars of {name}")
    class_path = str(ensure_jars(read_jar_set(SIDES / jars), ground.cache) / "*")
    classes = ground.folder / "classes" / main_class
    source = str(SIDES / f"{main_class}.java")
    ran = subprocess.run(
        leashed([javac, "-d", str(classes), "-cp", class_path, source]), capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise BenchError(f"{main_class}.java does not compile: {ran.stderr.strip()[-500:]}")
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    return [java, "-Xmx2g", *opened, "-cp", f"{classes}:{class_path}", main_class]
