"""Waiting for something to become so: never for a time, always for a condition."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from confluent_kafka import KafkaException

from services.registry.errors import RegistryError

T = TypeVar("T")

PATIENCE_S = 120.0
POLL_S = 0.1


class NeverError(AssertionError):
    """Something that had to happen did not, in all the time that it was given."""


def until(condition: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S) -> T:
    """Waits until the condition holds, and returns what it gave. A broker that is away for the moment is no answer.

    Raises NeverError, which says `what` was waited for.
    """
    deadline_s = time.monotonic() + patience_s
    while True:
        with suppress(RegistryError, KafkaException):
            answer = condition()
            if answer:
                return answer
        if time.monotonic() > deadline_s:
            raise NeverError(f"waited {patience_s:.0f} s in vain until {what}")
        time.sleep(POLL_S)
