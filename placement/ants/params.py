"""Parameter sets: the paper's rules taken literally, and ours. The same code runs both (DESIGN section 5)."""

import math
from dataclasses import dataclass, field

from placement.ants.enforcement import EnforcementParams
from placement.ants.routing import RoutingParams
from placement.ants.scouting import Rule, ScoutingParams
from placement.ants.surroundings import SurroundingsParams
from placement.pheromone import PheromoneParams, Reinforcement
from placement.scent import ScentParams


@dataclass(frozen=True, slots=True)
class AntParams:
    """Everything that cells and ants of one system have in common."""

    pheromone: PheromoneParams = field(default_factory=PheromoneParams)
    routing: RoutingParams = field(default_factory=RoutingParams)
    scouting: ScoutingParams = field(default_factory=ScoutingParams)
    enforcement: EnforcementParams = field(default_factory=EnforcementParams)
    surroundings: SurroundingsParams = field(default_factory=SurroundingsParams)
    scent: ScentParams | None = field(default_factory=ScentParams)
    """None: destinations never announce themselves, ants start without any idea."""


IMPROVED = AntParams()

PAPER = AntParams(
    pheromone=PheromoneParams(
        reinforcement=Reinforcement.INVERSE_TRIP,
        floor_share=0.0,
        learn_from_all_trips=False,
        half_life_ms=math.inf,
    ),
    scouting=ScoutingParams(
        rule=Rule.GREEDY,
        least_alpha=0.5,
        most_alpha=0.95,
        join_hint=False,
        nearby_hosts=0,
        explore=0.0,
        shift=True,
        queues=True,
    ),
    surroundings=SurroundingsParams(hops=1),
    scent=None,
)
