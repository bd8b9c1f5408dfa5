"""Effects: all that cells, ants and leaders ask of the body that runs them.

The brain only decides. A body (the simulator, or the services on Kafka) interprets these values.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Send(NamedTuple):
    """Carry a message to another host's cell. `queued`: it waits in that host's server queue like data does."""

    to: str
    message: Any
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Home:
    """Hand news to the leader of a flow, which lives on this host."""

    flow: str
    news: Any


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Wake the leader of a flow with `TimerFired(name)`; a timer of the same name replaces the earlier one."""

    flow: str
    name: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class Lost:
    """A message ended here; bodies count it, nobody acts on it."""

    message: Any
    why: str
