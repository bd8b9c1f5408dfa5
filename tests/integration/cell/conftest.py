"""A Redis of a test's own, which may be killed, frozen, emptied and started again."""

import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.embedded.ports import choose_ports
from services.embedded.probes import RedisProbe
from services.embedded.redis_server import redis_program
from services.host.cell import pheromone_store

PATIENCE_S = 60.0


@dataclass
class OwnRedis:
    """`start` and `kill` it; nothing is kept on disk, so that a killed one has lost all."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen([redis_program(), *options], stdout=log, stderr=log)
        deadline_s = time.monotonic() + PATIENCE_S
        while not RedisProbe(url=self.url).answers():
            assert time.monotonic() < deadline_s, (self.folder / "redis.log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell gives Redis up after a second; a test must not, only because the machine stood still for one."""
    monkeypatch.setattr(pheromone_store, "ANSWER_TIMEOUT_S", 10.0)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[OwnRedis]:
    redis = OwnRedis(tmp_path, choose_ports([None])[0])
    redis.start()
    yield redis
    if redis.process is not None:
        redis.kill()
