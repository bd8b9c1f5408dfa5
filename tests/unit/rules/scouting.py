"""The rules of scouts: what they may place where, and how they choose; and of the chains that they place."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from placement import subqueries
from placement.ants import scouting
from placement.ants.beside import best_beside
from placement.ants.greedy import place_greedily, shift
from placement.ants.order import Order
from placement.ants.params import IMPROVED
from placement.ants.pricing import Pricer
from placement.ants.programme import Way, Ways, extend, finish
from placement.ants.scouting import Failures, Stage, scout
from placement.ants.surroundings import Surroundings
from placement.ants.tapping import offers
from placement.leader_attempt import Attempt
from placement.pheromone import PheromoneVector
from placement.queueing import UTILISATION_CAP
from tests.unit.rules.rule import Rule, changed, instead, module_of
from tests.unit.rules.walking import by_chance_alone

FILE = "unit/ants/test_ants_scouting.py"
SCOUTING, SUBQUERIES = f"{FILE}::test_", "unit/ants/test_ants_subqueries.py::test_"


def _scouts_alike(**same: Any) -> Callable[[pytest.MonkeyPatch], None]:
    def remove(patch: pytest.MonkeyPatch) -> None:
        instead(patch, scout, lambda *what, **how: replace(scout(*what, **how), **same))

    return remove


def _params(path: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Our ants, in the test, with one of their params changed."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module_of(FILE), "IMPROVED", changed(IMPROVED, path, value))

    return remove


def _unbound(order: Order) -> Order:
    return replace(order, flow=replace(order.flow, latency_bound_ms=math.inf))


def _greedy_without_bound(patch: pytest.MonkeyPatch) -> None:
    instead(
        patch, place_greedily, lambda way, order, *how, greed: place_greedily(way, _unbound(order), *how, greed=greed)
    )


def _no_bound_at_all(patch: pytest.MonkeyPatch) -> None:
    _greedy_without_bound(patch)
    instead(patch, finish, lambda ways, order, *how: finish(ways, _unbound(order), *how))


def _programme_without_bound(patch: pytest.MonkeyPatch) -> None:
    instead(patch, extend, lambda ways, order, *how, keep: extend(ways, _unbound(order), *how, keep=keep))


def _greed_without_end(patch: pytest.MonkeyPatch) -> None:
    instead(patch, place_greedily, lambda way, order, *how, greed: place_greedily(way, order, *how, greed=99))


def _alpha_is_a_wish(patch: pytest.MonkeyPatch) -> None:
    prepare = Pricer.__init__

    def capped(self: Pricer, *what: Any, cap: float, **how: Any) -> None:
        prepare(self, *what, cap=UTILISATION_CAP, **how)

    patch.setattr(Pricer, "__init__", capped)


def _as_far_as_it_got(ways: Ways, *_: Any) -> Way:
    """The way of a scout to whom it is all the same whether tasks are left."""
    return next(row for row in reversed(ways) if row)[0]


def _nobody_passes_it_on(patch: pytest.MonkeyPatch) -> None:
    hear = Surroundings.hear
    patch.setattr(Surroundings, "hear", lambda self, digest, links: hear(self, replace(digest, hops_left=0), links))


def _chains(**lost: Callable[[Sequence[int]], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Chains that have lost something of what they know of the edges beside them."""
    cut = subqueries._subquery

    def remove(patch: pytest.MonkeyPatch) -> None:
        def other(rest: Any, tasks: tuple[int, ...]) -> subqueries.Subquery:
            return replace(cut(rest, tasks), **{name: value(tasks) for name, value in lost.items()})

        patch.setattr(subqueries, "_subquery", other)

    return remove


def _task_by_task(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(subqueries, "_longest", lambda rest: (min(rest.open),))


def _first_chain_alone(patch: pytest.MonkeyPatch) -> None:
    settle = Attempt.settle
    patch.setattr(Attempt, "settle", lambda self, report, flow: settle(self, report, flow) and False)


RULES = (
    Rule(
        "each scout draws its load cap alpha",
        f"{SCOUTING}each_scout_draws_its_own_load_cap_and_greediness",
        _scouts_alike(alpha=0.7),
    ),
    Rule(
        "each scout draws its greediness g",
        f"{SCOUTING}each_scout_draws_its_own_load_cap_and_greediness",
        _scouts_alike(greed=1),
    ),
    Rule(
        "scouts walk by pheromone",
        f"{SCOUTING}a_scout_walks_by_the_pheromone_of_its_destination",
        by_chance_alone,
    ),
    Rule(
        "a greedy scout places up to g tasks on a host",
        f"{SCOUTING}a_greedy_scout_places_no_more_than_its_greed_at_a_host",
        _greed_without_end,
    ),
    Rule(
        "it places while L_new + L_prev < L_T",
        f"{SCOUTING}a_greedy_scout_leaves_to_the_next_host_what_would_break_the_bound_here",
        _greedy_without_bound,
    ),
    Rule(
        "L_T is end to end",
        f"{SCOUTING}a_greedy_scout_keeps_within_the_latency_bound",
        _no_bound_at_all,
    ),
    Rule(
        "our scouts keep L_T at every host, too",
        f"{SCOUTING}the_programme_drops_a_way_beyond_the_bound_before_it_displaces_one_within",
        _programme_without_bound,
    ),
    Rule(
        "alpha is a hard cap",
        f"{SCOUTING}a_greedy_scout_skips_a_host_beyond_its_load_cap",
        _alpha_is_a_wish,
    ),
    Rule(
        "a scout reuses an equal operator that runs already",
        "unit/ants/test_ants_taps.py::test_a_scout_taps_an_equal_task_and_pays_its_age_and_what_comes_after_alone",
        lambda patch: instead(patch, offers, lambda order, serving: []),
    ),
    Rule(
        "on the way back a task may shift to an adjacent host",
        f"{SCOUTING}on_the_way_back_a_task_shifts_to_a_faster_neighbour",
        lambda patch: instead(patch, shift, lambda way, *_, **__: way),
    ),
    Rule(
        "a scout fails at the destination if tasks are left",
        f"{SCOUTING}a_scout_that_could_not_place_all_tasks_fails_at_the_destination",
        lambda patch: instead(patch, finish, _as_far_as_it_got),
    ),
    Rule(
        "enough failures on a path send one scout back",
        f"{SCOUTING}enough_failures_on_a_trail_send_one_home_to_weaken_it",
        lambda patch: patch.setattr(Failures, "enough", lambda self, order, params: False),
    ),
    Rule(
        "it weakens the path on its way",
        f"{SCOUTING}enough_failures_on_a_trail_send_one_home_to_weaken_it",
        lambda patch: patch.setattr(PheromoneVector, "weaken", lambda self, next_hop: None),
    ),
    Rule(
        "by the paper, failures are enough if they were of different greed",
        f"{SCOUTING}the_papers_scouts_weaken_a_trail_after_failures_of_different_greed",
        lambda patch: patch.setattr(
            Failures, "enough", lambda self, order, params: self.scouts >= params.failures_to_weaken
        ),
        {"tasks": 3, "greeds": (2, 2, 2, 1, 3), "stages": (None, None, None, None, Stage.WEAKENING)},
    ),
    # Improvement 2: the carried dynamic programme.
    Rule(
        "a scout carries the cheapest way for each number of tasks",
        f"{SCOUTING}the_programme_finds_the_cheapest_split_over_the_trail",
        lambda patch: patch.setattr(scouting, "_programme", lambda visit: scouting._greedy(visit, [])),
    ),
    Rule(
        "over the best few hosts beside its trail, too",
        f"{SCOUTING}the_programme_uses_a_host_beside_the_trail_and_pays_the_detour",
        lambda patch: instead(patch, best_beside, lambda *_, **__: []),
    ),
    Rule(
        "cells know of hosts more than one hop away",
        "unit/ants/test_ants_scent.py::test_digests_travel_as_many_hops_as_asked",
        _nobody_passes_it_on,
    ),
    Rule(
        "a way never returns to a host: A -> B -> A would overload it",
        f"{SCOUTING}a_way_never_returns_to_a_host_it_has_left",
        lambda patch: patch.setattr(Way, "uses", lambda self, host: False),
    ),
    Rule(
        "tasks that several chains put on one host are priced together",
        "unit/ants/test_ants_pricing.py::test_a_task_beside_an_earlier_chain_s_task_pays_only_what_it_adds",
        lambda patch: patch.setattr(Order, "settled_masks", {}),
    ),
    # Improvement 3: the join hint.
    Rule(
        "other producers pull at a join with half the distance",
        f"{SUBQUERIES}the_other_producer_pulls_at_the_join_with_half_the_paths",
        _chains(pulls=lambda tasks: ((),) * len(tasks)),
    ),
    Rule(
        "a join is priced with half its own branch and the whole tail",
        f"{SUBQUERIES}a_chain_before_a_join_carries_its_share_of_the_paths",
        _chains(shares=lambda tasks: (1.0,) * (len(tasks) + 1)),
    ),
    Rule(
        "scouts heed the pull",
        f"{SCOUTING}anchors_pull_without_being_a_cost",
        _params("scouting.join_hint", False),
    ),
    # Improvement 5: the social price.
    Rule(
        "scouts count what they add to the flows already there",
        f"{SCOUTING}what_a_newcomer_adds_to_the_flows_there_counts",
        _params("scouting.social", False),
    ),
    # Fan-in and fan-out.
    Rule(
        "fan-in: the longest chain first",
        f"{SUBQUERIES}fan_in_places_the_longest_chain_first_then_each_other_producer_to_its_join",
        _task_by_task,
    ),
    Rule(
        "fan-in: then each other producer to its join",
        "unit/ants/test_ants_leader.py::test_chains_are_placed_one_after_the_other_and_enforced_together",
        _first_chain_alone,
    ),
    Rule(
        "fan-out: likewise to each consumer",
        f"{SUBQUERIES}fan_out_places_the_longest_chain_first_then_each_other_consumer",
        _task_by_task,
    ),
)
