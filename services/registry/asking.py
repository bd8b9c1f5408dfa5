"""Asking the placement service for something, and waiting for what it decides."""

import getpass
import time
import uuid
from collections.abc import Callable
from typing import Any

from services.registry.decisions import WEIGHED
from services.registry.errors import RegistryError
from services.registry.snapshot import followed_registry
from services.registry.view import RegistryView
from services.registry.write import write
from topics import catalogue
from topics.messages import Decision, Policy, Request

POLL_S = 0.2
RECENT_MS = 86_400_000
"""A decision that somebody waits for is not older; by so much a clock may be wrong, too. All are kept for a month."""
ENDS = ("refused", "moved", "rolled_back", "abandoned")
"""Decisions after which nothing more comes of a request for one partition."""


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def recent_ms() -> int:
    """From when on decisions are looked for by who has just asked."""
    return now_ms() - RECENT_MS


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
    answers = wait_answers(bootstrap, request, bool, deadline_s=deadline_s)
    if answers:
        return answers[0]
    raise RegistryError(
        f"{whom} has answered in {timeout_s:.0f} s",
        "do hosts and a placement instance run? See stigmergy hosts and stigmergy status",
    )


def wait_answers(
    bootstrap: str, request: str, are_enough: Callable[[list[Decision]], bool], *, deadline_s: float
) -> list[Decision]:
    """The decisions on a request, in order, as soon as they are enough; those that have come when the time is over."""
    with followed_registry(bootstrap, catalogue.DECISIONS, decisions_since_ms=recent_ms()) as registry:
        while not are_enough(answers := _answers(registry.read(), request)) and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
    return answers


def answers_to(bootstrap: str, request: str) -> list[Decision]:
    """All decisions on a request of late, so far, in order."""
    with followed_registry(bootstrap, catalogue.DECISIONS, decisions_since_ms=recent_ms()) as registry:
        return _answers(registry.read(), request)


def _answers(view: RegistryView, request: str) -> list[Decision]:
    found = (each for each in view.decisions.values() if each.request == request and each.kind != WEIGHED)
    return sorted(found, key=lambda each: each.decided_ms)


def flow_decisions(view: RegistryView, flow: str) -> list[Decision]:
    """All decisions on a flow, in order."""
    return sorted((each for each in view.decisions.values() if each.flow == flow), key=lambda each: each.decided_ms)
