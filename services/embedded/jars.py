"""Jars from the Maven repository: fetched by the Ivy inside PySpark, checked against sums kept here, cached per user.

A jar set is a file with one line a jar: SHA-256, bytes, organisation:name:revision. It pins everything, so Ivy resolves
nothing: it only fetches. A folder in the cache is complete and checked, or it is not there: jars are fetched into a
folder beside it, checked, and renamed. One process fetches at a time; the others wait and find the work done.
"""

import fcntl
import hashlib
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from services.embedded.errors import StackError
from services.embedded.java import java_program
from services.embedded.spawn import leashed

FETCH_ATTEMPTS_MAX = 3
CONNECT_TIMEOUT_MS, READ_TIMEOUT_MS = 15_000, 60_000

OnProgress = Callable[[int, int], None]
"""Called with the bytes fetched so far and the bytes in all."""


@dataclass(frozen=True)
class Jar:
    """One jar, and how to know that it is the right one."""

    sha256: str
    size_bytes: int
    organisation: str
    name: str
    revision: str

    @property
    def file_name(self) -> str:
        """What the jar is called in the cache."""
        return f"{self.name}-{self.revision}.jar"


@dataclass(frozen=True)
class JarSet:
    """The jars that one program needs."""

    name: str
    jars: tuple[Jar, ...]

    @property
    def size_bytes(self) -> int:
        """Of all jars together."""
        return sum(jar.size_bytes for jar in self.jars)

    @property
    def folder_name(self) -> str:
        """Differs when any jar differs, so that two versions of Stigmergy share a cache in peace."""
        sums = "".join(jar.sha256 for jar in self.jars)
        return f"{self.name}-{hashlib.sha256(sums.encode()).hexdigest()[:12]}"


def read_jar_set(path: Path) -> JarSet:
    """Reads a jar set from its file, whose stem is the set's name."""
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return JarSet(path.stem, tuple(Jar(sha256, int(size), *name.split(":")) for sha256, size, name in lines))


def ensure_jars(jar_set: JarSet, cache: Path, on_progress: OnProgress | None = None) -> Path:
    """The folder with all jars of the set, each checked; fetches them if the cache does not have them all."""
    folder = cache / "jars" / jar_set.folder_name
    if not wrong_jars(jar_set, folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(folder):
        if wrong_jars(jar_set, folder):
            _fetch(jar_set, folder, on_progress or (lambda done, total: None))
    return folder


def wrong_jars(jar_set: JarSet, folder: Path) -> list[str]:
    """The jars of the set that are missing in the folder, or are not what they should be."""
    return [jar.file_name for jar in jar_set.jars if _sha256(folder / jar.file_name) != jar.sha256]


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Waits until no other process fetches into this folder. The kernel frees the lock of a process that dies."""
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(jar_set: JarSet, folder: Path, on_progress: OnProgress) -> None:
    """Fetches all jars beside the folder, checks them, and renames. Called by the one process that holds the lock."""
    for abandoned in folder.parent.glob(f"{folder.name}.part-*"):
        shutil.rmtree(abandoned)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    try:
        fetched = part / "jars"
        _run_ivy(jar_set, part, fetched, on_progress)
        if wrong := wrong_jars(jar_set, fetched):
            raise StackError(
                f"{len(wrong)} of {len(jar_set.jars)} jars are not what they should be: {', '.join(wrong[:5])}",
                "a proxy or mirror on the way may change files; try another network, or set STIGMERGY_KAFKA_HOME",
            )
        if folder.exists():
            shutil.rmtree(folder)
        fetched.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _run_ivy(jar_set: JarSet, part: Path, target: Path, on_progress: OnProgress) -> None:
    """Runs Ivy until it has all jars; a further attempt goes on with what the ones before it fetched."""
    settings, module = part / "ivysettings.xml", part / "ivy.xml"
    settings.write_text(_settings_xml(part / "ivy-cache"))
    module.write_text(_module_xml(jar_set))
    pattern = str(target / "[artifact]-[revision].[ext]")
    command = [java_program(), "-jar", str(_ivy_jar()), "-settings", str(settings), "-ivy", str(module)]
    for _ in range(FETCH_ATTEMPTS_MAX):
        said = _follow([*command, "-retrieve", pattern], jar_set, on_progress)
        if all((target / jar.file_name).exists() for jar in jar_set.jars):
            return
    complaints = [line.strip() for line in said if "ERROR" in line or "WARN" in line or "xception" in line]
    raise StackError(
        f"cannot fetch the jars of {jar_set.name}: {'; '.join((complaints or said)[-3:])}",
        "check the network (Java must be able to reach the Maven repository), or set STIGMERGY_KAFKA_HOME",
    )


def _follow(command: list[str], jar_set: JarSet, on_progress: OnProgress) -> list[str]:
    """Runs Ivy to its end, tells of each jar that it finished, and gives back what it said."""
    sizes = {f"{jar.organisation}#{jar.name};{jar.revision}": jar.size_bytes for jar in jar_set.jars}
    done_bytes, said = 0, []
    with subprocess.Popen(
        leashed(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ivy:
        assert ivy.stdout is not None
        try:
            for line in ivy.stdout:
                said.append(line)
                if "[SUCCESSFUL ]" in line:
                    done_bytes += sizes.get(line.split("]")[1].split("!")[0].strip(), 0)
                    on_progress(done_bytes, jar_set.size_bytes)
        except BaseException:
            ivy.kill()
            raise
    return said


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec is not None and spec.origin else []
    if not found:
        raise StackError(
            "PySpark, whose Ivy fetches Kafka's jars, is not installed",
            "install stigmergy[embedded] (make setup does), or set STIGMERGY_KAFKA_HOME",
        )
    return found[-1]


def _settings_xml(ivy_cache: Path) -> str:
    """One resolver: the public Maven repository, Ivy's default. No metadata: the jar set says all there is to know."""
    return f"""<ivysettings>
  <settings defaultResolver="maven"/>
  <caches defaultCacheDir={quoteattr(str(ivy_cache))}/>
  <timeout-constraints>
    <timeout-constraint name="patience" connectionTimeout="{CONNECT_TIMEOUT_MS}" readTimeout="{READ_TIMEOUT_MS}"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="maven" m2compatible="true" usepoms="false" useMavenMetadata="false" checksums=""
             timeoutConstraint="patience"/>
  </resolvers>
</ivysettings>
"""


def _module_xml(jar_set: JarSet) -> str:
    dependencies = "\n".join(
        f'    <dependency org="{jar.organisation}" name="{jar.name}" rev="{jar.revision}" transitive="false"/>'
        for jar in jar_set.jars
    )
    return f"""<ivy-module version="2.0">
  <info organisation="stigmergy" module={quoteattr(jar_set.name)}/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
