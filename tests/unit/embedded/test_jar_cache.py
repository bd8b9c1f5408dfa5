"""Jars are complete and right, or they are not there. A small program plays Java and Ivy, so no network is used."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from services.embedded.errors import StackError
from services.embedded.jars import Jar, JarSet, ensure_jars, read_jar_set, wrong_jars
from services.embedded.stack import KAFKA_JARS

CONTENTS = {"one": b"the first jar", "two": b"the second jar"}

PLAY_IVY = """#!/bin/sh
# Copies the jars of $IVY_SOURCE to where -retrieve says, as Ivy would.
for argument; do last=$argument; done
target=$(dirname "$last")
mkdir -p "$target"
echo run >> "$IVY_RUNS"
for jar in "$IVY_SOURCE"/*.jar; do
  name=$(basename "$jar" -1.0.jar)
  cp "$jar" "$target/"
  echo "	[SUCCESSFUL ] org#$name;1.0!$name.jar (1ms)"
  [ "$IVY_ENDS" = "after-one" ] && exit 1
  [ "$IVY_ENDS" = "killed" ] && kill -9 $PPID $$
done
exit 0
"""


class Repository:
    """What the pretended Maven repository holds, and how often it was asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.runs = folder / "source", folder / "runs"
        self.folder.mkdir()
        self.runs.touch()
        for name, content in CONTENTS.items():
            (self.folder / f"{name}-1.0.jar").write_bytes(content)
        java = folder / "java-home" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(PLAY_IVY)
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
        monkeypatch.setenv("IVY_SOURCE", str(self.folder))
        monkeypatch.setenv("IVY_RUNS", str(self.runs))

    def times_asked(self) -> int:
        return len(self.runs.read_text().splitlines())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


def jar_set() -> JarSet:
    jars = [
        Jar(hashlib.sha256(content).hexdigest(), len(content), "org", name, "1.0") for name, content in CONTENTS.items()
    ]
    return JarSet("test", tuple(jars))


def left_in(cache: Path) -> list[str]:
    """The folders in the cache, without lock files."""
    return sorted(path.name for path in (cache / "jars").iterdir() if path.is_dir())


def test_jars_are_fetched_once_for_all_clones(repository: Repository, tmp_path: Path) -> None:
    """A second clone downloads nothing."""
    first = ensure_jars(jar_set(), tmp_path / "cache")
    assert [] == wrong_jars(jar_set(), first)
    assert first == ensure_jars(jar_set(), tmp_path / "cache")
    assert 1 == repository.times_asked()


def test_progress_ends_with_all_bytes(repository: Repository, tmp_path: Path) -> None:
    """The bar shows what is really there."""
    moves: list[tuple[int, int]] = []
    ensure_jars(jar_set(), tmp_path / "cache", lambda done, total: moves.append((done, total)))
    assert [(13, 27), (27, 27)] == moves


def test_a_half_finished_download_is_never_used(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when it is tried again and again; and when the network is back, all is well."""
    monkeypatch.setenv("IVY_ENDS", "after-one")
    with pytest.raises(StackError, match="cannot fetch the jars of test"):
        ensure_jars(jar_set(), tmp_path / "cache")
    assert [] == left_in(tmp_path / "cache")
    monkeypatch.delenv("IVY_ENDS")
    assert [] == wrong_jars(jar_set(), ensure_jars(jar_set(), tmp_path / "cache"))


def fetch_in_another_process(cache: Path) -> "subprocess.Popen[bytes]":
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from services.embedded.jars import ensure_jars
from test_jar_cache import jar_set
ensure_jars(jar_set(), Path({str(cache)!r}))
"""
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ)


def test_a_killed_download_leaves_nothing_that_is_used(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 in the middle: the next one starts anew and removes what was left."""
    monkeypatch.setenv("IVY_ENDS", "killed")
    assert -signal.SIGKILL == fetch_in_another_process(tmp_path / "cache").wait(240)
    (part,) = left_in(tmp_path / "cache")
    assert ".part-" in part
    monkeypatch.delenv("IVY_ENDS")
    folder = ensure_jars(jar_set(), tmp_path / "cache")
    assert [] == wrong_jars(jar_set(), folder)
    assert [folder.name] == left_in(tmp_path / "cache")


def test_two_downloads_at_once_fetch_once(repository: Repository, tmp_path: Path) -> None:
    """Two clones may say `make up` in the same second."""
    both = [fetch_in_another_process(tmp_path / "cache") for _ in range(2)]
    assert [0, 0] == [process.wait(240) for process in both]
    assert 1 == repository.times_asked()


def test_a_jar_with_another_sum_is_refused(repository: Repository, tmp_path: Path) -> None:
    """What a proxy or mirror changed must not run."""
    (repository.folder / "two-1.0.jar").write_bytes(b"something else")
    with pytest.raises(StackError, match=r"1 of 2 jars are not what they should be: two-1.0.jar"):
        ensure_jars(jar_set(), tmp_path / "cache")
    assert [] == left_in(tmp_path / "cache")


def test_a_jar_that_broke_in_the_cache_is_fetched_again(repository: Repository, tmp_path: Path) -> None:
    """Disks fail, people tidy up."""
    folder = ensure_jars(jar_set(), tmp_path / "cache")
    (folder / "one-1.0.jar").write_bytes(b"broken")
    assert ["one-1.0.jar"] == wrong_jars(jar_set(), folder)
    ensure_jars(jar_set(), tmp_path / "cache")
    assert [] == wrong_jars(jar_set(), folder)


def test_the_set_of_kafka_is_whole() -> None:
    """Each line pins one jar; the broker itself, and what writes its logs, are among them."""
    kafka = read_jar_set(KAFKA_JARS)
    names = [jar.name for jar in kafka.jars]
    assert "kafka" == kafka.name
    assert {"kafka_2.13", "kafka-clients", "log4j-slf4j-impl"} <= set(names)
    assert len(names) == len(set(names))
    assert {64} == {len(jar.sha256) for jar in kafka.jars}
    assert 40e6 < kafka.size_bytes < 50e6
