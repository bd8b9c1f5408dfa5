"""The numbers of DESIGN section 5, each changed in turn: a default that drifts unseen changes every result."""

from collections.abc import Callable

import pytest

from placement.ants.params import IMPROVED
from placement.leader_params import IMPROVED_LEADER
from placement.model import Flow
from tests.unit.rules.rule import Rule, changed, module_of

FILE = "unit/ants/test_ants_defaults.py"
ANTS, LEADERS = f"{FILE}::test_ours_are_the_numbers_of_the_design", f"{FILE}::test_our_leaders_are_those_of_the_design"

OF_ANTS: dict[str, tuple[str, float]] = {
    "r is at most 0.1": ("pheromone.strength", 0.2),
    "I(mu, sigma) is one sigma": ("pheromone.confidence_sigmas", 2.0),
    "EWMA 0.1": ("pheromone.smoothing", 0.2),
    "the floor is 0.05 / degree": ("pheromone.floor_share", 0.1),
    "a failed path gets phi * 0.7": ("pheromone.failed_path_factor", 0.5),
    "a new wave weighs 0.9": ("pheromone.rescent_blend", 0.5),
    "T is half of the smallest link": ("scent.temperature_share", 1.0),
    "time to live 200 hops": ("routing.max_hops", 100),
    "our alpha is 0.98": ("scouting.most_alpha", 1.0),
    "the best 3 hosts a cell": ("scouting.nearby_hosts", 2),
    "enforcement tolerates 10 %": ("enforcement.price_tolerance", 0.2),
    "reservations last 3 round trips": ("enforcement.reservation_trips", 4.0),
    "and 1 s": ("enforcement.reservation_spare_ms", 0.0),
}
OF_LEADERS: dict[str, tuple[str, float]] = {
    "10 reports are enough": ("placing.enough_reports", 9),
    "outstanding is within 1.02 of the lower bound": ("outstanding", 1.05),
    "3 routing ants a round": ("watching.routing_ants", 4),
    "2 scouts a round": ("watching.scouts", 3),
    "the cool-down is 3 rounds": ("cool_down_rounds", 2),
    "the budget is the share that decision 45 made of 2e-4": ("budget_share", 2e-4),
}


def _set(name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(module_of(FILE), name, value)


def _another_beta(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Flow.__dataclass_fields__["beta"], "default", 1.2)


RULES = (
    *(Rule(words, ANTS, _set("IMPROVED", changed(IMPROVED, *other))) for words, other in OF_ANTS.items()),
    *(
        Rule(words, LEADERS, _set("IMPROVED_LEADER", changed(IMPROVED_LEADER, *other)))
        for words, other in OF_LEADERS.items()
    ),
    Rule("beta is 1.1", LEADERS, _another_beta),
)
