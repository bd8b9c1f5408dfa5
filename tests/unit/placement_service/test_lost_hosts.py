"""Hosts that are lost or drained: where their partitions go, and when."""

from collections import Counter
from typing import Any

import msgspec

from tests.unit.registry_messages import registration
from topics.messages import Decision


def test_a_lost_hosts_partitions_wait_a_moment_for_their_leader_then_go_to_who_followed_them(
    office: Any, pick: Any, segment: str
) -> None:
    """The leader knows better; without it, whoever has the state takes over first."""
    office.running_on("a")
    followed = msgspec.structs.replace(office.view.placements[segment, 1], standbys=("c",))
    office.view.take(followed)
    office.lost_since_ms = {"a": office.now_ms}
    assert [] == office.look()
    office.now_ms += 1_000
    written = office.look()
    assert [("b", 2), ("c", 2)] == office.owners()
    assert ["failed_over", "failed_over"] == [kind for kind, _ in pick["decisions"](written)]
    told = [each.evidence["silent_ms"] for each in written if isinstance(each, Decision)]
    assert [6_000.0, 6_000.0] == told, "of the silence, not only of what came after its first five seconds"


def test_the_leaders_next_plan_comes_before_the_rule(office: Any) -> None:
    """It places anew at once: there is nobody to drain."""
    office.running_on("a")
    office.lost_since_ms = {"a": office.now_ms}
    office.plan("c", epoch=2)
    office.look()
    assert [("c", 2), ("c", 2)] == office.owners()


def test_a_plan_that_leaves_a_host_waits_while_that_one_may_come_back(office: Any) -> None:
    """After a power cut the first host to boot takes all others for dead, and plans to run everything by itself."""
    office.running_on("a")
    office.live = {"b", "c"}
    office.plan("c", epoch=2)
    assert [] == office.look()
    office.lost_since_ms = {"a": office.now_ms}
    office.look()
    assert [("c", 2), ("c", 2)] == office.owners()


def test_a_lost_host_sets_few_partitions_in_motion_at_once(office: Any) -> None:
    """With fifty partitions its heirs must not all recover at the same time."""
    office.partitions = 50
    office.running_on("a")
    office.lost_since_ms = {"a": office.now_ms - 10_000}
    office.look()
    per_host_max = office.params.recovering_per_host_max
    assert 2 * per_host_max == sum(host != "a" for host, _ in office.owners())
    for (_, partition), each in list(office.view.placements.items()):
        if each.host != "a":
            office.says(each.host, partition, each.epoch)
    office.look()
    assert 50 == sum(host != "a" for host, _ in office.owners())


def test_what_is_parked_keeps_nobody_from_taking_over(office: Any, segment: str) -> None:
    """Its owner does nothing for it: a source that was deleted parks a flow everywhere, and then a host dies."""
    per_host_max = office.params.recovering_per_host_max
    office.partitions = 2 * per_host_max + 2
    office.running_on("a")
    for partition in range(2 * per_host_max):
        host = "bc"[partition % 2]
        office.view.take(msgspec.structs.replace(office.view.placements[segment, partition], host=host, epoch=2))
        office.says(host, partition, 2, state="parked")
    office.lost_since_ms = {"a": office.now_ms - 10_000}
    office.look()
    assert "a" not in {host for host, _ in office.owners()}


def test_what_leaves_a_drained_host_is_spread(office: Any) -> None:
    """All moves are proposed at one look: who is on the way to a host counts, or one host would get everything."""
    office.partitions = 6
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    assert {"b": 3, "c": 3} == Counter(each.target for each in office.view.moves.values())


def test_what_leaves_a_drained_host_stays_in_its_region_while_somebody_there_is_open(office: Any) -> None:
    """An idle host across the ocean has the fewest partitions, and a flow of 50 ms none of its bound left there."""
    office.view.take(registration("c", region="across the ocean"))
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    assert ["b", "b"] == [each.target for each in office.view.moves.values()]


def test_what_leaves_a_drained_host_leaves_its_region_if_nobody_there_is_open(office: Any) -> None:
    """Its machine is to be shut down."""
    office.view.take(registration("c", region="across the ocean"))
    office.running_on("a")
    office.rule("host", "b", "drained")
    office.rule("host", "a", "drained")
    office.look()
    assert ["c", "c"] == [each.target for each in office.view.moves.values()]


def test_everything_leaves_a_drained_host_and_nothing_comes(office: Any, pick: Any) -> None:
    """Its partitions move, one after the other; a plan that wants it is refused once, not at every look."""
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    assert {"a"} == {each.origin for each in office.view.moves.values()}
    assert 2 == len(office.view.moves)
    assert [] == office.look()
    office.plan("a", epoch=2)
    told = pick["decisions"](office.look())
    assert [("refused", "host a is drained; open it again with stigmergy drain --undo a")] == told
    assert [] == office.look()
