"""Finds a Java that can run Kafka 4 (17 or newer)."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from services.embedded.errors import StackError

JAVA_VERSION_MIN = 17
INSTALL_JAVA = f"install Java {JAVA_VERSION_MIN} (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME"


@dataclass(frozen=True)
class Java:
    """A Java that runs: its program and its feature version, such as 17."""

    program: str
    version: int


def java_program() -> str:
    """The Java to use: that of JAVA_HOME, else the one on the PATH. Not tried yet, so it costs nothing."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if program is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise StackError(f"no java {where}", INSTALL_JAVA)
    return program


def find_java() -> Java:
    """Runs java once to learn its version."""
    program = java_program()
    said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    version = parse_version(said)
    if version is None:
        raise StackError(f"{program} -version says nothing that looks like a version", INSTALL_JAVA)
    if version < JAVA_VERSION_MIN:
        raise StackError(f"{program} is Java {version}, Kafka needs {JAVA_VERSION_MIN} or newer", INSTALL_JAVA)
    return Java(program, version)


def parse_version(said: str) -> int | None:
    """The feature version in the output of `java -version`: 17 from "17.0.15", 8 from "1.8.0_392"."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first
