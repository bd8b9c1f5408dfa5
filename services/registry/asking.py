"""Asking the placement service for something, and waiting for what it decides."""

import getpass
import time
import uuid
from typing import Any

from services.registry.decisions import WEIGHED
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from services.registry.write import write
from topics import catalogue
from topics.messages import Decision, Policy, Request

POLL_S = 0.2
ENDS = ("refused", "moved", "rolled_back", "abandoned")
"""Decisions after which nothing more comes of a request for one partition."""


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def who() -> str | None:
    """Who asks, as far as the system knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def ask(bootstrap: str, kind: Any, flow: str, **more: Any) -> str:
    """Writes a request; its id."""
    request = Request(
        request=f"r-{uuid.uuid4().hex[:16]}", kind=kind, flow=flow, asked_ms=now_ms(), asked_by=who(), **more
    )
    write(bootstrap, [(catalogue.REQUESTS, request)])
    return request.request


def lay_down(bootstrap: str, subject: Any, name: str, policy: Any) -> None:
    """Writes a policy."""
    ruled = Policy(subject=subject, name=name, policy=policy, changed_ms=now_ms(), changed_by=who())
    write(bootstrap, [(catalogue.POLICIES, ruled)])


def wait_answer(bootstrap: str, request: str, *, timeout_s: float, whom: str = "no placement instance") -> Decision:
    """The first decision on a request. Raises RegistryError if none comes in time."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        answers = answers_to(bootstrap, request)
        if answers:
            return answers[0]
        time.sleep(POLL_S)
    raise RegistryError(
        f"{whom} has answered in {timeout_s:.0f} s",
        "do hosts and a placement instance run? See stigmergy hosts and stigmergy status",
    )


def answers_to(bootstrap: str, request: str) -> list[Decision]:
    """All decisions on a request so far, in order."""
    decisions = read_registry(bootstrap, catalogue.DECISIONS).decisions.values()
    found = (each for each in decisions if each.request == request and each.kind != WEIGHED)
    return sorted(found, key=lambda each: each.decided_ms)


def flow_decisions(view: RegistryView, flow: str) -> list[Decision]:
    """All decisions on a flow, in order."""
    return sorted((each for each in view.decisions.values() if each.flow == flow), key=lambda each: each.decided_ms)
