"""What the bench of a cluster makes of a host's death."""

import pytest

from services.lab.cluster.death import Death, busiest, detected_s, rows, running_s
from services.lab.cluster.tally import TEXT, Counts, Tally
from services.lab.cluster.watch import Watch, runs, slots_of
from services.lab.dataplane.ground import BenchError
from services.placement.failover import fail_over
from services.placement.params import PlacementParams
from services.placement.situation import Situation
from services.registry.view import RegistryView
from tests.unit.lab_cluster.messages import decided, placed, plan, revision, running, seen
from topics import catalogue

SLOTS = {("one", 0): "f", ("one", 1): "f", ("two", 0): "g"}


def test_a_death_is_detected_by_the_first_who_shows_it() -> None:
    """A failover says how long before it the host was known to be lost; a plan that still has the host says nothing."""
    still = seen(104.0, plan("f", one="dead"))
    without = seen(107.0, plan("f", one="b"))
    failover = seen(107.5, decided("failed_over", "g", known_ms=1_500.0))
    assert 106.0 == detected_s([still, without, failover], SLOTS, "dead")
    assert 107.0 == detected_s([still, without], SLOTS, "dead")
    assert 105.0 == detected_s([still, seen(105.0, placed("two", "b", epoch=2)), without], SLOTS, "dead")
    with pytest.raises(BenchError):
        detected_s([still], SLOTS, "dead")


def test_a_failover_says_itself_since_when_the_host_was_known_to_be_lost() -> None:
    """Of six seconds of silence five were patience: nobody knew."""
    view = RegistryView()
    view.take(placed("two", "dead", flow="g"))
    view.take(revision("g"))
    params = PlacementParams("p", "nowhere:1", silent_s_max=5.0)
    situation = Situation(view, now_ms=50_000, live=frozenset({"b"}), lost_since_ms={"dead": 49_000})
    course = [seen(106.0, message) for _, message in fail_over(situation, frozenset(), params)]
    assert 105.0 == detected_s(course, SLOTS, "dead")


def test_all_runs_again_when_the_last_partition_does_elsewhere() -> None:
    """What the dead host said last, still on its way, is not counted; nor is a partition that comes back later."""
    course = [
        seen(100.1, running("one", "dead")),
        seen(108.0, running("one", "b", epoch=2)),
        seen(108.5, running("one", "b", partition=1, epoch=2)),
        seen(109.0, running("two", "c", epoch=2)),
        seen(120.0, running("two", "b", epoch=3)),
    ]
    assert 109.0 == running_s(course, SLOTS, "dead")
    with pytest.raises(BenchError, match="two/0"):
        running_s(course[:3], SLOTS, "dead")


def test_rows_part_detection_from_what_follows_it() -> None:
    """The target has one figure for each; the whole stands beside them, and whether state was whole."""
    deaths = [Death(5.0, 7.0, 7.5, 3, 6, 0, 0), Death(6.0, 10.0, 10.5, 3, 6, 2, 1), Death(5.5, 8.0, 8.5, 3, 6, 0, 0)]
    found = {row.measure: row.value for row in rows(deaths)}
    assert 5.5 == found["a host dies: until it is detected, median"]
    assert 2.5 == found["a host dies: from detection until all its partitions run elsewhere, median"]
    assert pytest.approx(3.97) == found["a host dies: from detection until all its partitions run elsewhere, p99"]
    assert 8.5 == found["a host dies: until results of all its partitions come again, median"]
    assert (2, 1) == (
        found["a host dies: keys with a wrong count, most"],
        found["a host dies: results out of turn, most"],
    )


def test_the_busiest_host_dies() -> None:
    """It runs operators of several flows, since there are more flows than hosts."""
    view = RegistryView()
    for each in (placed("one", "b"), placed("one", "c", partition=1), placed("two", "c")):
        view.take(each)
    assert "c" == busiest(view, SLOTS)


def test_a_count_that_is_lost_repeated_or_missing_shows() -> None:
    """The tally knows what was sent; a result must be one more than the one before it."""
    counts = Counts(2, sent={"0-1": 3, "1-1": 2, "1-2": 1})
    for number in (1, 2, 3):
        counts.came("0-1", number, at_s=float(number))
    counts.came("1-1", 1, at_s=1.0)
    assert (2, 0) == (counts.wrong(), counts.out_of_turn)
    counts.came("1-1", 1, at_s=2.0)
    assert (2, 1) == (counts.wrong(), counts.out_of_turn)
    tally = Tally({"f": counts}, keys=1, rate_per_s=1)
    assert 2 == tally.settle(timeout_s=0.01)
    counts.came("1-1", 2, at_s=3.0)
    counts.came("1-2", 1, at_s=3.0)
    assert (0, 1) == (tally.settle(timeout_s=0.01), tally.out_of_turn())


def test_results_come_again_after_the_longest_silence() -> None:
    """What was under way when the host died still arrives a moment later, and is not the end of the silence."""
    counts = Counts(1, at_s={0: [9.0, 10.05, 10.1, 17.0, 17.1]})
    assert 17.0 == counts.again_s(0, since_s=10.0)
    with pytest.raises(BenchError):
        counts.again_s(0, since_s=18.0)


def test_the_flow_of_a_tally_is_one_segment_with_the_source_s_partitions() -> None:
    """A key names its partition only then."""
    assert 2 == len(slots_of(TEXT.replace("NAME", "f"), partitions=2))


def test_a_watch_tells_what_came_and_what_is() -> None:
    """With the moment at which it came; a partition runs when its present owner says so."""
    watch, topic = Watch(), catalogue.PLACEMENTS
    for offset, message in enumerate((placed("one", "a"), placed("one", "b", epoch=2))):
        value = topic.codec.encode(message, topic=topic.name)
        watch.take(topic.name, topic.key_of(message), value, offset=offset, at_s=float(offset))
    told = running("one", "b", epoch=2)
    status = catalogue.SEGMENTS_STATUS
    watch.take(status.name, status.key_of(told), status.codec.encode(told, topic=status.name), offset=0, at_s=2.0)
    assert [1.0, 2.0] == [each.at_s for each in watch.since(1.0)]
    assert watch.of(lambda view: runs(view, ("one", 0)))
    assert watch.of(lambda view: runs(view, ("one", 0), at="b"))
    assert not watch.of(lambda view: runs(view, ("one", 0), at="a"))
    assert not watch.of(lambda view: runs(view, ("one", 1)))
