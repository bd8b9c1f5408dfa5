"""Pheromone vectors: what good and bad trips, failures, time and lost neighbours do to them."""

import math
from random import Random

import pytest

from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.pheromone import PheromoneParams, PheromoneTable, PheromoneVector, Reinforcement, TripStatistics
from placement.queueing.load import IDLE

PLAIN = PheromoneParams(floor_share=0.0, half_life_ms=math.inf)


def vector(*neighbours: str, params: PheromoneParams = PLAIN) -> PheromoneVector:
    return PheromoneVector(neighbours, params, now_ms=0.0)


def test_a_new_vector_is_equiprobable() -> None:
    """Ants 3.3: nothing is known, so nothing is preferred."""
    assert [1 / 3] * 3 == vector("a", "b", "c").probabilities


def test_a_good_trip_raises_its_hop_and_lowers_the_others_by_the_same_factor() -> None:
    """Ants eqs 1 and 2: phi += r (1 - phi), others *= 1 - r."""
    learned = vector("a", "b", "c")
    learned.reinforce("b", 10.0, now_ms=0.0)
    r = PLAIN.strength  # the first trip is the best so far
    assert pytest.approx([1 / 3 * (1 - r), 1 / 3 + r * 2 / 3, 1 / 3 * (1 - r)]) == learned.probabilities


def test_a_bad_trip_does_not_reinforce() -> None:
    """Ants 3.5: a trip above mu + I is no reason to walk that way again."""
    learned = vector("a", "b")
    for _ in range(20):
        learned.reinforce("a", 10.0, now_ms=0.0)
    before = list(learned.probabilities)
    assert not learned.reinforce("b", 100.0, now_ms=0.0)
    assert before == learned.probabilities


def test_statistics_follow_bad_trips_too() -> None:
    """If only good trips counted, the mean would freeze once all delays double, and no trip would be good again."""
    slow = vector("a", "b")
    for trip_ms in [10.0] * 20 + [20.0] * 60:
        slow.reinforce("a", trip_ms, now_ms=0.0)
    assert slow.statistics.is_good(20.0)
    frozen = vector("a", "b", params=PheromoneParams(floor_share=0.0, learn_from_all_trips=False))
    for trip_ms in [10.0] * 20 + [20.0] * 60:
        frozen.reinforce("a", trip_ms, now_ms=0.0)
    assert not frozen.statistics.is_good(20.0)


def test_mean_and_deviation_follow_the_last_trips_by_a_tenth_each() -> None:
    """EWMA 0.1: what ants met long ago must not outweigh what they meet now."""
    statistics = TripStatistics(PLAIN)
    for _ in range(20):
        statistics.record(10.0)
    before_ms2 = statistics.variance_ms2
    statistics.record(20.0)
    assert pytest.approx(11.0) == statistics.mean_ms
    assert pytest.approx(0.9 * before_ms2 + 0.1 * 10.0**2) == statistics.variance_ms2


def test_a_record_from_better_times_is_forgotten() -> None:
    """The reinforcement is relative to the best trip; on a network that has slowed down an old best would mute it."""
    statistics = TripStatistics(PheromoneParams(best_window_trips=10))
    statistics.record(1.0)
    for _ in range(10):
        statistics.record(5.0)
    assert statistics.best_ms == 5.0


def test_a_worse_but_good_trip_reinforces_less() -> None:
    """r = strength (best / T)^2."""
    learned = vector("a", "b")
    learned.reinforce("a", 10.0, now_ms=0.0)
    before = learned.probability("b")
    learned.reinforce("b", 12.0, now_ms=0.0)
    r = PLAIN.strength * (10.0 / 12.0) ** 2
    assert pytest.approx(before + r * (1 - before)) == learned.probability("b")


def test_the_papers_reinforcement_is_the_inverse_trip_time() -> None:
    """Ants 3.5, literally, in the parameter set `paper`."""
    literal = vector("a", "b", params=PheromoneParams(reinforcement=Reinforcement.INVERSE_TRIP, floor_share=0.0))
    literal.reinforce("a", 50.0, now_ms=0.0)
    assert pytest.approx(0.5 + 0.5 / 50) == literal.probability("a")


def test_no_hop_falls_below_the_floor() -> None:
    """A way that is never tried again can never be found again."""
    floored = vector("a", "b", "c", params=PheromoneParams(floor_share=0.05))
    for _ in range(500):
        floored.reinforce("a", 10.0, now_ms=0.0)
    assert pytest.approx(0.05 / 3) == floored.probability("b")
    assert pytest.approx(1.0) == sum(floored.probabilities)


def test_a_failed_path_is_weakened() -> None:
    """Ants 3.7: negative reinforcement; decision: phi * 0.7."""
    weak = vector("a", "b")
    weak.weaken("a")
    assert pytest.approx(0.35 / 0.85) == weak.probability("a")


def test_what_ants_taught_evaporates_towards_the_prior() -> None:
    """After one half-life without ants, half the preference is left."""
    fading = vector("a", "b", params=PheromoneParams(floor_share=0.0, half_life_ms=1_000.0))
    fading.reinforce("a", 10.0, now_ms=0.0)
    gained = fading.probability("a") - 0.5
    assert pytest.approx([0.5 + gained / 2, 0.5 - gained / 2]) == fading.faded(now_ms=1_000.0)
    fading.reinforce("b", 10.0, now_ms=1_000.0)
    assert pytest.approx((0.5 + gained / 2) * 0.9) == fading.probability("a")


def test_ants_walk_by_what_has_not_evaporated_yet() -> None:
    """A preference that nobody confirmed for long must not lead ants for ever."""
    rng = Random(1)
    stale = vector("a", "b", params=PheromoneParams(floor_share=0.0, half_life_ms=1_000.0))
    stale.probabilities = [1.0, 0.0]
    assert {"a"} == {stale.choose(rng, now_ms=0.0) for _ in range(100)}
    chosen = [stale.choose(rng, now_ms=10_000.0) for _ in range(5_000)]
    assert pytest.approx(0.5, abs=0.02) == chosen.count("a") / 5_000
    assert 0.0 == stale.refreshed_ms, "walking by it is no refreshment"


def test_a_vector_that_nobody_refreshed_is_destroyed() -> None:
    """Ants 3.5, end: cells keep only what present flows need."""
    table = PheromoneTable(["a", "b"], PheromoneParams(expires_after_ms=100.0))
    table.vector("far", now_ms=0.0).reinforce("a", 10.0, now_ms=0.0)
    assert table.expire(now_ms=99.0) == []
    assert table.known("far", now_ms=101.0) is None
    assert table.expire(now_ms=101.0) == ["far"]
    assert table.destinations() == []


def test_a_cell_sweeps_out_what_has_expired() -> None:
    """Else a long-lived host would keep a vector for every end that any flow ever had."""
    cell = Cell("h", 1.0, {"a": 1.0, "b": 1.0}, IMPROVED, delay=lambda a, b: 1.0, direct=True)
    cell.pheromone.vector("far", now_ms=0.0).reinforce("a", 10.0, now_ms=0.0)
    cell.measure(IDLE, now_ms=1_000.0)
    assert ["far"] == cell.pheromone.destinations()
    cell.measure(IDLE, now_ms=IMPROVED.pheromone.expires_after_ms + 1.0)
    assert [] == cell.pheromone.destinations()


def test_a_lost_neighbour_leaves_its_probability_to_the_others() -> None:
    """An ant must never choose a dead host."""
    left = vector("a", "b", "c")
    left.lose("b")
    assert left.neighbours == ["a", "c"]
    assert [0.5, 0.5] == left.probabilities


def test_a_new_neighbour_gets_an_equal_share() -> None:
    """A host that joins is worth a try at once."""
    met = vector("a", "c")
    met.meet("b")
    assert met.neighbours == ["a", "b", "c"]
    assert pytest.approx([1 / 3] * 3) == met.probabilities


def test_visited_hosts_are_chosen_only_if_none_other_is_left() -> None:
    """Ants 3.4, step 2."""
    rng = Random(1)
    some = vector("a", "b", "c")
    assert {"c"} == {some.choose(rng, now_ms=0.0, visited=("a", "b")) for _ in range(50)}
    assert {"a", "b", "c"} == {some.choose(rng, now_ms=0.0, visited=("a", "b", "c")) for _ in range(100)}


def test_choices_follow_the_pheromone() -> None:
    """The vector is a probability, not an order of preference."""
    rng = Random(1)
    learned = vector("a", "b")
    learned.probabilities = [0.2, 0.8]
    chosen = [learned.choose(rng, now_ms=0.0) for _ in range(5_000)]
    assert pytest.approx(0.8, abs=0.02) == chosen.count("b") / 5_000


def test_exploring_ants_ignore_part_of_the_pheromone() -> None:
    """Scouts look beside the beaten path."""
    rng = Random(1)
    learned = vector("a", "b")
    learned.probabilities = [0.0, 1.0]
    chosen = [learned.choose(rng, now_ms=0.0, explore=0.5) for _ in range(5_000)]
    assert pytest.approx(0.25, abs=0.02) == chosen.count("a") / 5_000


def test_a_scent_replaces_ignorance_and_blends_with_what_was_learned() -> None:
    """A wave that comes again must not wipe out what ants have found since, nor be drowned by it."""
    fresh = vector("a", "b")
    fresh.scent({"a": 3.0, "b": 1.0}, now_ms=0.0)
    assert pytest.approx([0.75, 0.25]) == fresh.probabilities
    fresh.reinforce("b", 10.0, now_ms=0.0)
    learned = fresh.probability("b")
    fresh.scent({"a": 3.0, "b": 1.0}, now_ms=0.0)
    assert pytest.approx(0.9 * 0.25 + 0.1 * learned) == fresh.probability("b")


@pytest.mark.parametrize("wrong", [{"strength": 0.0}, {"floor_share": 1.0}, {"half_life_ms": 0.0}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    """A wrong parameter is told at once, not by ants that walk in circles."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PheromoneParams(**wrong)
