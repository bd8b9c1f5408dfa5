"""Every message that travels between cells: its number on the wire and its topic. Each of these facts is only here.

A number is never used for another kind. An ant of a kind that a host does not know is refused and counted; ants are
advice, so hosts of two versions can live side by side until both are upgraded.
"""

from typing import Any

from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.letters import Letter
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.order import Order, ScoutReport, Spot
from placement.ants.routing import RoutingAnt, RoutingAntReturned
from placement.ants.scouting import ScoutFailed, ScoutingAnt
from placement.ants.surroundings import Digest
from placement.ants.trail import Trail
from placement.leader_events import Crowded, HostLost, ServedFrom, ServingEnds, TapAnswered, TapAsked
from placement.model import Flow
from placement.scent import Announce, Scent
from topics.ants.probes import Echo, Probe
from topics.ants.shapes import Shapes, tagged
from topics.catalogue import ANTS_ENFORCEMENT, ANTS_ROUTING, ANTS_SCOUTING
from topics.messages import AntEnvelope
from topics.topic import Topic

WIRE_VERSION = 7
"""Of everything inside an envelope. Raise it when a kind's shape changes."""

KINDS: dict[int, tuple[type[Any], Topic[AntEnvelope]]] = {
    1: (RoutingAnt, ANTS_ROUTING),
    2: (Scent, ANTS_ROUTING),
    3: (Announce, ANTS_ROUTING),
    4: (Digest, ANTS_ROUTING),
    5: (Probe, ANTS_ROUTING),
    6: (Echo, ANTS_ROUTING),
    20: (ScoutingAnt, ANTS_SCOUTING),
    21: (MeasuringAnt, ANTS_SCOUTING),
    40: (EnforcementAnt, ANTS_ENFORCEMENT),
    41: (Activation, ANTS_ENFORCEMENT),
    42: (Cancellation, ANTS_ENFORCEMENT),
    43: (Release, ANTS_ENFORCEMENT),
    44: (Letter, ANTS_ENFORCEMENT),
}

NEWS: dict[int, type[Any]] = {
    60: RoutingAntReturned,
    61: ScoutReport,
    62: ScoutFailed,
    63: Enforced,
    64: Measured,
    65: Crowded,
    66: HostLost,
    67: TapAsked,
    68: TapAnswered,
    69: ServingEnds,
    70: ServedFrom,
    71: Release,
    72: Cancellation,
}
"""What a letter may tell a leader."""

TOPIC_OF: dict[type[Any], Topic[AntEnvelope]] = dict(KINDS.values())


def _trail_fits(trail: Trail) -> bool:
    return 0 < len(trail.hosts) == len(trail.elapsed_ms) == len(trail.distance_ms) and trail.hops >= 0


def _order_fits(order: Order) -> bool:
    count = len(order.tasks)
    known = all(0 <= task < len(order.flow.tasks) for task in order.tasks)
    return 0 < count == len(order.anchors) == len(order.shares) - 1 and known


def _stands_at_a_stop(ant: EnforcementAnt | MeasuringAnt) -> bool:
    return 0 <= ant.at < len(ant.stops)


def _enforcement_fits(ant: EnforcementAnt) -> bool:
    edges = len(ant.flow.edges)
    return _stands_at_a_stop(ant) and all(0 <= leg.edge < edges for stop in ant.stops for leg in stop.legs)


_SHAPES = Shapes(
    checks={
        Trail: _trail_fits,
        Order: _order_fits,
        EnforcementAnt: _enforcement_fits,
        MeasuringAnt: _stands_at_a_stop,
    },
    interned=frozenset({Flow, Order}),
    repeated=frozenset({Spot}),
    tagged=NEWS,
)

ANT = tagged({number: (kind, _SHAPES.of(kind)) for number, (kind, _) in KINDS.items()})
"""The shape of any message between cells."""
