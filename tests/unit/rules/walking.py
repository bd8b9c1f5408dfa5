"""The rules of how ants walk and what cells learn from it: routing ants, pheromone, scent waves."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from placement import pheromone
from placement.ants import routing
from placement.ants.effects import Send
from placement.ants.trail import Trail
from placement.cell import Cell
from placement.pheromone import PheromoneVector, TripStatistics
from placement.scent import ScentMap
from tests.unit.rules.rule import Rule, changed, instead

ROUTING, PHEROMONE, SCENT = (f"unit/ants/test_ants_{what}.py::test_" for what in ("routing", "pheromone", "scent"))


def _leaving(**ignored: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Trails in which some time does not count."""
    leave = Trail.leave

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Trail, "leave", lambda self, to, **times: leave(self, to, **(times | ignored)))

    return remove


def _queues(always: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """Ants that always wait in queues, or never."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(routing, "Send", lambda to, message, queued=False: Send(to, message, queued=always))

    return remove


def _choosing(**ignored: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Hops that are chosen without looking at something."""
    choose = PheromoneVector.choose

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(PheromoneVector, "choose", lambda self, rng, **seen: choose(self, rng, **(seen | ignored)))

    return remove


by_chance_alone = _choosing(explore=1.0)


def _never_back(patch: pytest.MonkeyPatch) -> None:
    choose = PheromoneVector.choose

    def stuck(self: PheromoneVector, rng: Any, *, visited: Any = (), **seen: Any) -> str | None:
        return None if set(self.neighbours) <= set(visited) else choose(self, rng, visited=visited, **seen)

    patch.setattr(PheromoneVector, "choose", stuck)


def _cycles_stay(patch: pytest.MonkeyPatch) -> None:
    def leave(self: Trail, to: str, *, wait_ms: float, link_ms: float) -> Trail:
        elapsed_ms, distance_ms = self.elapsed_ms[-1] + wait_ms + link_ms, self.distance_ms[-1] + link_ms
        hosts, elapsed, distance = (*self.hosts, to), (*self.elapsed_ms, elapsed_ms), (*self.distance_ms, distance_ms)
        return Trail(hosts, elapsed, distance, self.age_ms + wait_ms + link_ms, self.hops + 1)

    patch.setattr(Trail, "leave", leave)


def _no_cycle_kills(patch: pytest.MonkeyPatch) -> None:
    leave = Trail.leave

    def lived(self: Trail, to: str, *, wait_ms: float, link_ms: float) -> Trail:
        longer = leave(self._replace(age_ms=math.inf), to, wait_ms=wait_ms, link_ms=link_ms)
        assert longer is not None
        return longer._replace(age_ms=self.age_ms + wait_ms + link_ms)

    patch.setattr(Trail, "leave", lived)


def _no_oldest_age(patch: pytest.MonkeyPatch) -> None:
    walk_on = routing.walk_on
    instead(patch, walk_on, lambda *seen, **limits: walk_on(*seen, **(limits | {"max_hops": math.inf})))


def _recording(change: Callable[[TripStatistics], Any], after: Callable[[TripStatistics, Any], None]) -> Any:
    """Statistics that do something else before and after a trip is taken in."""
    record = TripStatistics.record

    def remove(patch: pytest.MonkeyPatch) -> None:
        def other(self: TripStatistics, trip_ms: float) -> None:
            kept = change(self)
            record(self, trip_ms)
            after(self, kept)

        patch.setattr(TripStatistics, "record", other)

    return remove


def _all_trips_weigh_the_same(statistics: TripStatistics) -> None:
    statistics._params = replace(statistics._params, smoothing=1e-9)


def _keep_deviation(statistics: TripStatistics, before: tuple[int, float]) -> None:
    trips, variance_ms2 = before
    statistics.variance_ms2 = variance_ms2 if trips else statistics.variance_ms2


def _keep_best(statistics: TripStatistics, best_ms: float) -> None:
    statistics._best_before_ms = min(statistics._best_before_ms, best_ms)


def _with_params(owner: type, method: str, path: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """A method of something that has params, with one of them changed."""
    original = getattr(owner, method)

    def remove(patch: pytest.MonkeyPatch) -> None:
        def other(self: Any, *what: Any, **how: Any) -> Any:
            self._params = changed(self._params, path, value)
            return original(self, *what, **how)

        patch.setattr(owner, method, other)

    return remove


def _no_floor(patch: pytest.MonkeyPatch) -> None:
    floored = pheromone._floored
    patch.setattr(pheromone, "_floored", lambda weights, floor_share: floored(weights, 0.0))


def _waves_end_at_once(patch: pytest.MonkeyPatch) -> None:
    smell = ScentMap.smell
    patch.setattr(ScentMap, "smell", lambda self, *what, **how: smell(self, *what, **how)[:0])


RULES = (
    # Routing ant, forward.
    Rule(
        "the wait in a host's queue is part of a trip",
        f"{ROUTING}an_ant_records_queue_and_link_at_every_hop",
        _leaving(wait_ms=0.0),
    ),
    Rule(
        "the delay of a link is part of a trip",
        f"{ROUTING}an_ant_records_queue_and_link_at_every_hop",
        _leaving(link_ms=0.0),
    ),
    Rule(
        "forward ants wait in queues like data",
        f"{ROUTING}an_ant_waits_in_queues_on_its_way_out_and_skips_them_at_the_destination",
        _queues(False),
    ),
    Rule("the next hop is chosen by pheromone", f"{PHEROMONE}choices_follow_the_pheromone", by_chance_alone),
    Rule(
        "the next hop is one not visited yet",
        f"{PHEROMONE}visited_hosts_are_chosen_only_if_none_other_is_left",
        _choosing(visited=()),
    ),
    Rule(
        "or any, if all have been visited",
        f"{PHEROMONE}visited_hosts_are_chosen_only_if_none_other_is_left",
        _never_back,
    ),
    Rule("a cycle's hops are dropped", f"{ROUTING}a_cycle_is_cut_out_of_the_trail", _cycles_stay),
    Rule(
        "a cycle that took more than half its life kills an ant",
        f"{ROUTING}an_ant_dies_of_a_cycle_longer_than_half_its_life",
        _no_cycle_kills,
    ),
    Rule("an ant lives for so many hops", f"{ROUTING}an_ant_that_gets_too_old_is_lost", _no_oldest_age),
    # Routing ant, backward.
    Rule(
        "ants teach each cell on their way home",
        f"{ROUTING}homeward_ants_teach_each_cell_the_hop_they_came_from",
        lambda patch: patch.setattr(PheromoneVector, "reinforce", lambda *_, **__: False),
    ),
    Rule(
        "what counts is the time of the sub-path to the destination",
        f"{ROUTING}homeward_ants_teach_each_cell_the_hop_they_came_from",
        lambda patch: patch.setattr(Trail, "trip_ms", lambda self, host: self.elapsed_ms[-1]),
    ),
    Rule(
        "only good trips reinforce",
        f"{PHEROMONE}a_bad_trip_does_not_reinforce",
        lambda patch: patch.setattr(TripStatistics, "is_good", lambda self, trip_ms: True),
    ),
    Rule(
        "a trip is good up to the deviation above the mean: I(mu, sigma) = sigma",
        f"{PHEROMONE}a_worse_but_good_trip_reinforces_less",
        lambda patch: patch.setattr(TripStatistics, "is_good", lambda self, ms: not self.trips or ms <= self.mean_ms),
    ),
    Rule(
        "a good trip adds r (1 - phi) to its hop and takes it from the others",
        f"{PHEROMONE}a_good_trip_raises_its_hop_and_lowers_the_others_by_the_same_factor",
        lambda patch: patch.setattr(PheromoneVector, "_reinforcement", lambda self, trip_ms: 0.0),
    ),
    Rule(
        "trips update mu and sigma",
        f"{ROUTING}homeward_ants_teach_each_cell_the_hop_they_came_from",
        lambda patch: patch.setattr(TripStatistics, "record", lambda self, trip_ms: None),
    ),
    Rule(
        "sigma follows trips, too",
        f"{PHEROMONE}mean_and_deviation_follow_the_last_trips_by_a_tenth_each",
        _recording(lambda self: (self.trips, self.variance_ms2), _keep_deviation),
    ),
    Rule(
        "mu and sigma weigh the last trips most (EWMA)",
        f"{PHEROMONE}mean_and_deviation_follow_the_last_trips_by_a_tenth_each",
        _recording(_all_trips_weigh_the_same, lambda self, _: None),
    ),
    Rule("homeward ants skip server queues", f"{ROUTING}the_way_home_skips_server_queues", _queues(True)),
    # What the paper leaves open of them.
    Rule(
        "r falls with the square of best / T",
        f"{PHEROMONE}a_worse_but_good_trip_reinforces_less",
        lambda patch: patch.setattr(PheromoneVector, "_reinforcement", lambda self, trip_ms: self._params.strength),
    ),
    Rule(
        "the best trip is that of a window",
        f"{PHEROMONE}a_record_from_better_times_is_forgotten",
        _recording(lambda self: self.best_ms, _keep_best),
    ),
    Rule(
        "a path on which scouts failed is weakened by a factor",
        f"{PHEROMONE}a_failed_path_is_weakened",
        lambda patch: patch.setattr(PheromoneVector, "weaken", lambda self, next_hop: None),
    ),
    Rule(
        "a vector that is not refreshed in time expires",
        f"{PHEROMONE}a_vector_that_nobody_refreshed_is_destroyed",
        lambda patch: patch.setattr(PheromoneVector, "expired", lambda self, now_ms: False),
    ),
    Rule(
        "what ants taught evaporates",
        f"{PHEROMONE}what_ants_taught_evaporates_towards_the_prior",
        lambda patch: patch.setattr(PheromoneVector, "faded", lambda self, now_ms: self.probabilities),
    ),
    # Improvement 1: the scent wave.
    Rule(
        "a wave seeds phi by distance",
        f"{SCENT}the_scent_makes_the_shorter_way_likelier",
        lambda patch: patch.setattr(ScentMap, "_seed", lambda *_, **__: None),
    ),
    Rule(
        "its temperature is about half the shortest link",
        f"{SCENT}the_scent_makes_the_shorter_way_likelier",
        _with_params(ScentMap, "_seed", "temperature_share", 1e6),
    ),
    Rule(
        "cells pass a wave on",
        f"{SCENT}a_wave_is_passed_on_with_the_distance_added_but_not_back",
        _waves_end_at_once,
    ),
    Rule(
        "ants leave behind the wave of their destination",
        f"{SCENT}an_ant_waits_at_its_start_for_the_wave_of_its_destination",
        lambda patch: patch.setattr(Cell, "_unsmelled", lambda self, ant: []),
    ),
    Rule(
        "a link that changed much calls for a new wave",
        f"{SCENT}a_link_that_changed_much_makes_the_ends_behind_it_announce_themselves_again",
        lambda patch: patch.setattr(ScentMap, "forget", lambda self, neighbour: []),
    ),
    Rule(
        "a new wave blends with what was learned",
        f"{PHEROMONE}a_scent_replaces_ignorance_and_blends_with_what_was_learned",
        _with_params(PheromoneVector, "scent", "rescent_blend", 1.0),
    ),
    # Improvement 4: statistics always, and a floor.
    Rule(
        "bad trips update mu and sigma, too",
        f"{PHEROMONE}statistics_follow_bad_trips_too",
        _with_params(PheromoneVector, "reinforce", "learn_from_all_trips", False),
    ),
    Rule("no phi falls below its floor", f"{PHEROMONE}no_hop_falls_below_the_floor", _no_floor),
)
