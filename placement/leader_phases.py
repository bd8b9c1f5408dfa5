"""What a leader can be waiting for, and which news means something then."""

from enum import Enum

from placement.ants.enforcement import Cancellation, Enforced, Release
from placement.ants.measuring import Measured
from placement.ants.order import ScoutReport
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.leader_events import (
    Crowded,
    CutOff,
    FlowChanged,
    Healed,
    HostLost,
    HotSpotAhead,
    MovesFrozen,
    NotCarriedOut,
    PauseTold,
    Place,
    Propose,
    ServedFrom,
    ServingEnds,
    TapAnswered,
    TapAsked,
    TimerFired,
    Withdraw,
)


class Phase(Enum):
    """What a leader is waiting for."""

    RESTING = "resting"
    SEARCHING = "searching"
    ENFORCING = "enforcing"
    LINGERING = "lingering"
    """Withdrawn, but others still tap the flow."""
    WITHDRAWN = "withdrawn"


_ALWAYS = frozenset(Phase) - {Phase.WITHDRAWN}
_WANTED = _ALWAYS - {Phase.LINGERING}

WAITS_FOR: dict[type, frozenset[Phase]] = {
    RoutingAntReturned: frozenset({Phase.SEARCHING}),
    ScoutReport: frozenset({Phase.SEARCHING}),
    ScoutFailed: frozenset({Phase.SEARCHING}),
    Enforced: frozenset({Phase.ENFORCING}),
    TapAnswered: frozenset({Phase.ENFORCING}),
    Measured: frozenset({Phase.SEARCHING}),
    Place: _ALWAYS,
    Propose: frozenset({Phase.RESTING}),
    Withdraw: _WANTED,
    HostLost: _ALWAYS,
    CutOff: _WANTED,
    Crowded: frozenset({Phase.RESTING, Phase.SEARCHING, Phase.ENFORCING}),
    HotSpotAhead: frozenset({Phase.RESTING, Phase.SEARCHING, Phase.ENFORCING}),
    Healed: frozenset({Phase.RESTING, Phase.SEARCHING}),
    FlowChanged: _ALWAYS,
    PauseTold: frozenset(Phase),
    MovesFrozen: frozenset(Phase),
    NotCarriedOut: frozenset({Phase.RESTING}),
    ServingEnds: _WANTED,
    ServedFrom: _ALWAYS,
    TapAsked: frozenset(Phase),
    Release: _ALWAYS,
    Cancellation: _ALWAYS,
    TimerFired: _WANTED,
}
"""In which phases each event means something; elsewhere it is an ant that came too late, and is ignored."""
