"""The life of one supervised process: its states, what moves it between them, and when it is started again.

Pure: an event and the time go in, the next state comes out. The supervisor acts on it.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """Where a process is in its life."""

    WAITING = "waiting"
    """Not started yet: something it needs is not ready."""
    STARTING = "starting"
    READY = "ready"
    BACKING_OFF = "backing off"
    """It ended, and will be started again."""
    FAILED = "failed"
    """It ended too often, or before it was ever ready; nobody starts it again."""
    STOPPING = "stopping"
    STOPPED = "stopped"


class Event(StrEnum):
    """What can happen to a process."""

    LAUNCHED = "launched"
    ANSWERED = "answered"
    EXITED = "exited"
    GAVE_UP = "gave up"
    STOP_ASKED = "stop asked"


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.WAITING, Event.LAUNCHED): State.STARTING,
    (State.STARTING, Event.ANSWERED): State.READY,
    (State.STARTING, Event.EXITED): State.BACKING_OFF,
    (State.READY, Event.EXITED): State.BACKING_OFF,
    (State.BACKING_OFF, Event.LAUNCHED): State.STARTING,
    (State.BACKING_OFF, Event.GAVE_UP): State.FAILED,
    (State.WAITING, Event.STOP_ASKED): State.STOPPED,
    (State.STARTING, Event.STOP_ASKED): State.STOPPING,
    (State.READY, Event.STOP_ASKED): State.STOPPING,
    (State.BACKING_OFF, Event.STOP_ASKED): State.STOPPED,
    (State.FAILED, Event.STOP_ASKED): State.STOPPED,
    (State.STOPPING, Event.EXITED): State.STOPPED,
}


@dataclass(frozen=True)
class RestartPolicy:
    """How long to wait before starting again what has ended: the delay grows until the process stays up for a while."""

    first_delay_s: float = 0.2
    factor: float = 2.0
    delay_s_max: float = 30.0
    forgiven_after_s: float = 60.0
    """Ready for this long, earlier failures no longer count."""
    failures_max: int = 10

    def __post_init__(self) -> None:
        assert 0 < self.first_delay_s <= self.delay_s_max, self
        assert self.factor >= 1, self

    def delay_s(self, failures: int) -> float:
        """The wait after this many failures in a row."""
        return min(self.delay_s_max, self.first_delay_s * self.factor ** (failures - 1))


@dataclass(frozen=True)
class Life:
    """One process's state, and what the decision about its next start depends on."""

    state: State = State.WAITING
    since_s: float = 0.0
    failures: int = 0
    """In a row."""
    starts: int = 0
    was_ready: bool = False

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return max(0, self.starts - 1)


def step(life: Life, event: Event, policy: RestartPolicy, *, now_s: float) -> Life:
    """The life after an event. An event that the table does not know is a bug of the supervisor."""
    assert (life.state, event) in TRANSITIONS, f"{event} in {life}"
    after = replace(life, state=TRANSITIONS[life.state, event], since_s=now_s)
    if event is Event.LAUNCHED:
        return replace(after, starts=life.starts + 1)
    if event is Event.ANSWERED:
        return replace(after, was_ready=True)
    if event is Event.EXITED and after.state is State.BACKING_OFF:
        stayed_up = life.state is State.READY and now_s - life.since_s >= policy.forgiven_after_s
        failures = 1 if stayed_up else life.failures + 1
        after = replace(after, failures=failures)
        # A process that was never ready is set up wrongly: trying again would only hide its message.
        if not life.was_ready or failures > policy.failures_max:
            return step(after, Event.GAVE_UP, policy, now_s=now_s)
    return after


def is_due(life: Life, policy: RestartPolicy, *, now_s: float) -> bool:
    """Whether the wait before the next start is over."""
    return life.state is State.BACKING_OFF and now_s >= life.since_s + policy.delay_s(life.failures)
