"""What a leader is told beside its ants' news, and what it asks of its body beside sending messages."""

import math
from dataclasses import dataclass

from placement.ants.effects import Send, SetTimer
from placement.model import Flow, Plan

# Events in. News of ants (RoutingAntReturned, ScoutReport, ScoutFailed, Enforced, Measured) come from placement.ants.


@dataclass(frozen=True, slots=True)
class Place:
    """Place the flow, or look for a better place now because a user asks (Ants 3.9, end)."""


@dataclass(frozen=True, slots=True)
class Propose:
    """Look for a better place of a flow that runs and tell of it, but change nothing: a dry run."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The flow ends."""


@dataclass(frozen=True, slots=True)
class HostLost:
    """A host died; whatever ran there does not run any more."""

    host: str


@dataclass(frozen=True, slots=True)
class CutOff:
    """The flow's hosts live, but its data do not get from one to the next; other hosts could still join its ends."""

    beyond: tuple[str, ...]
    """Hosts of the plan that nothing from the leader reaches."""
    mute: tuple[str, ...] = ()
    """Flows that it taps and from which nothing arrives."""


@dataclass(frozen=True, slots=True)
class Healed:
    """A host or link came back: what could not be placed may find room now, and what was cut off may be whole."""


@dataclass(frozen=True, slots=True)
class Crowded:
    """The queue of a host where the flow runs has become much longer."""

    host: str


@dataclass(frozen=True, slots=True)
class HotSpotAhead:
    """Because of this host the flow is about to break its bound, and it should leave (Synergy 3.4)."""

    host: str
    broken: bool = False
    """The bound, or that of a flow beside it, is broken by now: it was foreseen in vain, or not at all."""


@dataclass(frozen=True, slots=True)
class TapAsked:
    """Another flow's leader wants to tap a task of this flow under that epoch of its plan."""

    by: str
    epoch: int
    home: str
    """Where the answer goes."""
    task: str


@dataclass(frozen=True, slots=True)
class TapAnswered:
    """The leader of a flow that serves grants a tap, or says why not."""

    epoch: int
    flow: str
    task: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class ServingEnds:
    """A flow that this one taps will serve no longer: find another way. It goes on serving until this one has moved."""

    flow: str


@dataclass(frozen=True, slots=True)
class ServedFrom:
    """A task that this flow taps has moved to another host."""

    flow: str
    task: str
    host: str


# A leader that serves also hears Release and Cancellation of a tapper's epoch, as its hosts do: the tap has ended.


@dataclass(frozen=True, slots=True)
class FlowChanged:
    """The flow's rates or service times were measured anew; its graph is the same.

    `looks` False: the leader is about to hear of something else that it looks at.
    """

    flow: Flow
    looks: bool = True


@dataclass(frozen=True, slots=True)
class PauseTold:
    """How long a moved task would pause, by what moves have really cost lately."""

    pause_ms: float


@dataclass(frozen=True, slots=True)
class MovesFrozen:
    """Whether nobody would carry out a plan by which the flow moves, as long as it runs (decision 359)."""

    frozen: bool


@dataclass(frozen=True, slots=True)
class NotCarriedOut:
    """All is quiet, and the flow does not run as its plan of that epoch says; the registry is right (decision 320)."""

    epoch: int
    where: tuple[tuple[str, str], ...]
    """(task, host) of what runs elsewhere than planned; nothing: nothing of the flow runs (decision 321)."""
    why: str
    by_person: bool = False
    """Somebody wanted it there: there is no point in trying again soon."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer that the leader set has run out."""

    name: str


# Effects out, beside Send and SetTimer.


@dataclass(frozen=True, slots=True)
class Alternative:
    """Where some tasks of the flow could have gone instead, and what that would have cost beside the report taken."""

    hosts: tuple[tuple[str, str], ...]
    """(task, host)."""
    cost_ms: float
    own_ms: float
    best_cost_ms: float


@dataclass(frozen=True, slots=True)
class Published:
    """This plan runs from now on; what ran before ends. `cost_ms` is the price it was chosen for."""

    plan: Plan
    cost_ms: float
    reason: str
    own_ms: float = 0.0
    """The flow's own latency, without what it costs others."""
    alternatives: tuple[Alternative, ...] = ()
    """Other placements of some of its tasks that scouts reported, and that were not taken."""
    now_cost_ms: float = math.nan
    """What it cost where it ran before, and its own latency there; unknown for a flow that is new, or cut off."""
    now_own_ms: float = math.nan


@dataclass(frozen=True, slots=True)
class Corrected:
    """The plan before this one was not carried out. This is what runs instead, and nothing moves for it."""

    plan: Plan
    why: str

    @property
    def flow(self) -> str:
        return self.plan.flow


@dataclass(frozen=True, slots=True)
class Proposed:
    """What the leader would do if a person said yes. Nothing is booked, and what runs runs on."""

    plan: Plan
    cost_ms: float
    own_ms: float
    now_cost_ms: float
    """Where the flow runs now; NaN or infinite if nobody could ask."""
    now_own_ms: float
    objection: str | None
    """Why the leader would not do it by itself; None if it would."""
    alternatives: tuple[Alternative, ...] = ()

    @property
    def flow(self) -> str:
        return self.plan.flow


@dataclass(frozen=True, slots=True)
class GaveUp:
    """No placement was found; the leader tries again later."""

    flow: str
    why: str


@dataclass(frozen=True, slots=True)
class Stayed:
    """A round of ants found nothing worth a move, and why."""

    flow: str
    now_cost_ms: float
    best_cost_ms: float
    why: str
    own_ms: float = math.nan
    """The flow's own latency where it runs, as the model sees it now; unknown if nobody could ask."""


@dataclass(frozen=True, slots=True)
class Lingers:
    """The flow was withdrawn but runs on, unchanged, until those who tap it have found another way."""

    flow: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The flow has ended; nothing of it runs."""

    flow: str


LeaderEffect = Send | SetTimer | Published | Corrected | Proposed | GaveUp | Stayed | Lingers | Withdrawn
