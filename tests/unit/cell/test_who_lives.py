"""Who lives, how far everybody is, and who is whose neighbour: the pure parts of a cell's view of the cluster."""

from itertools import pairwise

import pytest

from placement.hop import HopParams
from services.host.cell.delays import OTHER_REGION_MS, SAME_REGION_MS, Delays, has_changed
from services.host.cell.neighbours import neighbours_of
from services.host.cell.probing import Probing, ProbingParams
from services.host.cell.roster import Roster
from topics.ants.probes import Echo
from topics.messages import HostMetrics, Moments


def report(host: str) -> HostMetrics:
    return HostMetrics(
        host=host,
        boot_id="b",
        second=1,
        cpu=0.0,
        memory_bytes=1,
        capacity=1.0,
        operators=0,
        loop_delay_ms=Moments(count=0, sum=0.0, sum_sq=0.0),
        loop_delay_ms_max=0.0,
        clock_offset_ms=0.0,
    )


def test_a_host_that_stays_silent_is_dead_within_six_seconds_of_its_last_report() -> None:
    """Five missed reports, and the second in which ours says so."""
    roster = Roster()
    roster.heard(report("a"), 0.0)
    for second in range(6):
        roster.heard(report("b"), second * 1_000.0)
        assert {"a", "b"} == roster.live(), second
    roster.heard(report("b"), 5_001.0)
    assert {"b"} == roster.live()


def test_nobody_dies_while_the_topic_stands_still() -> None:
    """A broker that is away, or a process that slept, must not look like the death of all hosts at once."""
    roster = Roster()
    roster.heard(report("a"), 1_000.0)
    roster.heard(report("b"), 2_000.0)
    assert {"a", "b"} == roster.live()
    roster.heard(report("b"), 60_000.0)
    assert {"a", "b"} == roster.live(), "one has to be the first to be heard again"
    for second in range(61, 66):
        roster.heard(report("b"), second * 1_000.0)
        assert {"a", "b"} == roster.live(), second
    roster.heard(report("b"), 66_000.0)
    assert {"b"} == roster.live(), "a had its time"


def test_who_reports_seldom_does_not_keep_the_dead_alive() -> None:
    """Each of its reports ends a silence of all; the others get their time anew once."""
    roster = Roster()
    roster.heard(report("a"), 1_000.0)
    roster.heard(report("b"), 1_000.0)
    for at_ms in (3_100.0, 5_200.0, 7_300.0):
        roster.heard(report("b"), at_ms)
        assert {"a", "b"} == roster.live(), at_ms
    roster.heard(report("b"), 9_400.0)
    assert {"b"} == roster.live()


def test_a_pair_that_nobody_measured_is_as_far_as_its_regions_are() -> None:
    """A guess by region beats a guess."""
    delays = Delays({"a": "x", "b": "x", "c": "y", "d": "y"})
    assert (SAME_REGION_MS, OTHER_REGION_MS) == (delays.delay_ms("a", "b"), delays.delay_ms("a", "c"))
    delays.heard("a", "a", 6.0)
    delays.heard("c", "a", 80.0)
    assert (37.0, 37.0, 37.0) == (delays.delay_ms("a", "c"), delays.delay_ms("c", "a"), delays.delay_ms("b", "d"))
    assert (True, False) == (delays.is_measured("a", "c"), delays.is_measured("b", "d"))
    delays.forget("c")
    assert OTHER_REGION_MS == delays.delay_ms("a", "c")
    assert 0.0 == delays.delay_ms("a", "a")


def test_busy_moments_and_small_changes_leave_a_delay_as_it_is() -> None:
    """The way is the way, however busy both ends are; every change makes cells talk."""
    delays = Delays({"a": "x", "b": "x"})
    delays.heard("a", "a", 0.0)
    for sample_ms in (10.0, 10.0, 110.0, 10.5, 410.0, 11.0, 10.0):
        delays.heard("a", "b", sample_ms)
    assert (5.0, 2) == (delays.delay_ms("b", "a"), delays.version)
    for _ in range(12):
        delays.heard("a", "b", 30.0)
    assert 15.0 == pytest.approx(delays.delay_ms("b", "a"), rel=0.15)
    delays.heard("b", "a", 20.0)
    assert 10.0 == delays.delay_ms("a", "b"), "of two that were measured, the smaller"


def test_what_every_hop_costs_is_no_distance() -> None:
    """Hosts probe themselves: the shortest such hop is the work of broker and clients, the rest is the way."""
    delays = Delays({"a": "x", "b": "x"})
    assert HopParams().base_ms == delays.hop_ms
    delays.heard("b", "b", 12.0)
    delays.heard("a", "a", 8.0)
    delays.heard("a", "b", 30.0)
    assert (4.0, 11.0, 0.0) == (delays.hop_ms, delays.delay_ms("a", "b"), delays.delay_ms("b", "b"))
    assert (0.0, 2.0) == (delays.loop_ms("a"), delays.loop_ms("b"))
    delays.heard("b", "a", 6.0)
    assert 0.0 == delays.delay_ms("a", "b")


def test_the_way_through_the_best_broker_counts_wherever_inboxes_are_led() -> None:
    """Two hosts in London whose inboxes are led in Madrid are not 30 ms apart: their data goes through London."""
    delays = Delays({"a": "london", "b": "london", "c": "madrid"})
    delays.heard("c", "c", 4.0)
    delays.heard("a", "b", 64.0)
    assert 30.0 == delays.delay_ms("a", "b")
    for host, near, far in (
        ("a", "broker/1", "broker/2"),
        ("b", "broker/1", "broker/2"),
        ("c", "broker/2", "broker/1"),
    ):
        delays.heard(host, near, 2.0)
        delays.heard(host, far, 32.0)
    assert (0.0, 15.0, 15.0) == (delays.delay_ms("a", "b"), delays.delay_ms("a", "c"), delays.delay_ms("c", "b"))
    assert delays.is_measured("a", "c")
    assert 0.0 == delays.loop_ms("c")
    delays.forget("c")
    assert not delays.is_measured("a", "c")


def test_probes_of_busy_hosts_do_not_make_a_measured_way_shorter() -> None:
    """What a hop costs is taken off a probe; while hosts are busy that is most of it, and 15 ms were told as 3."""
    delays = Delays({"a": "london", "c": "madrid"})
    for host, near, far in (("a", "broker/1", "broker/2"), ("c", "broker/2", "broker/1")):
        delays.heard(host, near, 2.0)
        delays.heard(host, far, 32.0)
        delays.heard(host, host, 44.0)
    delays.heard("a", "c", 50.0)
    assert 15.0 == delays.delay_ms("a", "c") == delays.delay_ms("c", "a")


def test_who_has_no_broker_nearby_pays_the_way_for_every_hop_to_itself() -> None:
    """And the way to a host beside the broker once."""
    delays = Delays({"edge": "edge", "core": "core"})
    delays.heard("edge", "edge", 44.0)
    delays.heard("core", "core", 4.0)
    delays.heard("edge", "broker/1", 22.0)
    delays.heard("core", "broker/1", 2.0)
    assert (20.0, 10.0, 0.0) == (delays.loop_ms("edge"), delays.delay_ms("edge", "core"), delays.loop_ms("core"))


def test_neighbours_are_the_region_and_the_nearest_of_the_others() -> None:
    """DESIGN section 5: no third host may be nearer to both."""
    regions = {"a": "x", "b": "x", "c": "y", "d": "z"}
    far = {("a", "c"): 10.0, ("b", "c"): 20.0, ("a", "d"): 30.0, ("b", "d"): 30.0, ("c", "d"): 5.0, ("a", "b"): 15.0}

    def delay_ms(one: str, other: str) -> float:
        return 0.0 if one == other else far[min(one, other), max(one, other)]

    assert {"b": 15.0, "c": 10.0} == neighbours_of("a", regions, delay_ms)
    assert {"a": 10.0, "d": 5.0} == neighbours_of("c", regions, delay_ms)
    assert {"b": 15.0, "d": 30.0} == neighbours_of("a", regions, delay_ms, unreachable={"c"})


def test_a_trembling_delay_is_no_change() -> None:
    """Every change makes cells talk."""
    assert [True, False, False, True] == [
        has_changed(*pair) for pair in [(None, 5.0), (10.0, 11.0), (0.1, 1.0), (10.0, 12.0)]
    ]


PARAMS = ProbingParams(first_probes=2, first_every_ms=100, every_ms=1_000, patience_ms=500, lost_in_a_row=2)


def test_a_new_host_is_probed_quickly_and_then_in_turn() -> None:
    """What it costs must not grow with the number of hosts."""
    probing = Probing("me", PARAMS)
    probing.watch(["a", "b"], now_ms=0.0)
    sent = [(now_ms, [name for name, _ in probing.due(now_ms=now_ms)]) for now_ms in range(0, 3_000, 50)]
    busy = [(now_ms, names) for now_ms, names in sent if names]
    assert [(0, ["a", "b"]), (100, ["a", "b"])] == busy[:2]
    assert [["a"], ["b"], ["a"]] == [names for _, names in busy[2:5]]
    assert all(1_000 == later - earlier for (earlier, _), (later, _) in pairwise(busy[2:5]))


def test_the_round_trip_leaves_out_what_the_other_side_took() -> None:
    """How long a host sits on a probe is no property of the way."""
    probing = Probing("me", PARAMS)
    probing.watch(["a"], now_ms=0.0)
    ((_, probe),) = probing.due(now_ms=0.0)
    assert 10.0 == probing.echoed("a", Echo(probe.serial, held_ms=2.0), now_ms=12.0)
    assert probing.echoed("a", Echo(probe.serial, held_ms=2.0), now_ms=13.0) is None, "an echo counts once"
    assert probing.echoed("stranger", Echo(probe.serial, held_ms=2.0), now_ms=13.0) is None
    (row,) = probing.rows(second=7)
    assert (1, 1, 0, 10.0) == (row.round_trip_ms.count, row.sent, row.lost, row.round_trip_ms.max)
    assert [] == probing.rows(second=8)


def test_a_host_that_does_not_answer_is_unreachable_until_it_does() -> None:
    """Alive by its reports, but ants would end there."""
    probing = Probing("me", PARAMS)
    probing.watch(["a"], now_ms=0.0)
    assert {"a"} == probing.strangers(now_ms=10.0)
    serials = [probing.due(now_ms=at)[0][1].serial for at in (0.0, 100.0)]
    probing.due(now_ms=900.0)
    assert {"a"} == probing.unreachable()
    assert probing.echoed("a", Echo(serials[0], 0.0), now_ms=901.0) is None, "too late"
    (_, probe) = probing.due(now_ms=2_000.0)[0]
    assert 10.0 == probing.echoed("a", Echo(probe.serial, 0.0), now_ms=2_010.0)
    assert frozenset() == probing.unreachable()
