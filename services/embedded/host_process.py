"""Hosts, and other processes of ours that answer on a health port, inside an embedded stack."""

import os
import sys

from services.cluster_key import KEY_VARIABLE
from services.embedded.ports import LOOPBACK
from services.embedded.probes import HttpProbe
from services.embedded.process import Process
from services.embedded.stack import EmbeddedStack
from services.settings import PREFIX

STOP_TIMEOUT_S = 40.0
"""More than a host takes at most."""


def host_process(stack: EmbeddedStack, name: str, region: str, port: int, capacity: float | None = None) -> Process:
    """A host in a region: it reaches the brokers as everybody there does."""
    command = [sys.executable, "-m", "services.host", "--name", name, "--region", region, "--log-format", "json"]
    command += ["--bootstrap", stack.bootstrap_from(region)]
    if not os.environ.get(KEY_VARIABLE):  # a key in the environment goes before the stack's own, and a flag before both
        command += ["--key-file", str(stack.home.key)]
    command += ["--silent", repr(stack.params.silent_s)]
    if capacity is not None:
        command += ["--capacity", repr(capacity), "--play-capacity"]
    return served_process(stack, name, tuple(command), port)


def served_process(stack: EmbeddedStack, name: str, command: tuple[str, ...], port: int) -> Process:
    """A process with a health page, which starts when brokers and Redis are ready."""
    return Process(
        name=name,
        command=(*command, "--port", str(port)),
        ready=HttpProbe(url=f"http://{LOOPBACK}:{port}/health"),
        address=f"{LOOPBACK}:{port}",
        log=stack.home.logs / f"{name}.log",
        after=tuple(each.name for each in stack.records() if each.log),  # what the user runs has no log of ours
        environment={PREFIX + "REDIS_URL": stack.redis_url},  # it may hold credentials, which a command line shows
        stop_timeout_s=STOP_TIMEOUT_S,
    )
