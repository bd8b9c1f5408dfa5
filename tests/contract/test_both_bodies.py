"""One brain, two bodies: the same scenario with the same seed leads to the same decisions in the simulator and live."""

from collections.abc import Callable

import pytest

from placement.model import Edge, Flow, Host, Sink, Source, Task, chain
from placement.queueing import Stream


def hosts(scenario: str, *capacities: float, regions: str = "") -> list[Host]:
    """Hosts with names of their own: all scenarios share the broker."""
    return [
        Host(f"{scenario}-{place}", capacity, region=regions[place] if regions else "r")
        for place, capacity in enumerate(capacities)
    ]


def line(count: int, step_ms: float) -> list[list[float]]:
    """Hosts in a row, so far apart."""
    return [[abs(a - b) * step_ms for b in range(count)] for a in range(count)]


def flow(
    name: str, start: str, end: str, *, rate: float = 0.05, tasks: int = 2, work: float = 4.0, **more: float
) -> Flow:
    row = tuple(Task(f"{name}.{number}", work) for number in range(tasks))
    return chain(name, Source("in", start, rate), row, Sink("out", end), **more)  # type: ignore[arg-type]


def test_a_chain_goes_to_the_fast_host_on_its_way(world: Callable) -> None:
    """Three hosts in a row; the one in the middle is four times as fast."""
    cluster = world(hosts("fast", 1.0, 4.0, 1.0), line(3, 2.0))
    cluster.submit(flow("fast-flow", "fast-0", "fast-2"))
    assert {"fast-flow.0": "fast-1", "fast-flow.1": "fast-1"} == cluster.settle()["fast-flow"]
    assert 0.1 == pytest.approx(cluster.promised("fast-1"))  # 0.05 a millisecond, 8 VWU each, capacity 4
    assert 0.0 == cluster.promised("fast-0")


def test_a_busy_host_is_avoided(world: Callable) -> None:
    """The fast host is nearly full with what no flow of ours causes."""
    busy = Stream(0.9, 4.0, 1.0, 1.0, 1.0).load(4.0)
    idle = Stream(1e-9, 1.0, 1.0, 1.0, 1.0).load(1.0)
    cluster = world(hosts("busy", 2.0, 4.0, 2.0), line(3, 0.5), [idle, busy, idle])
    cluster.submit(flow("busy-flow", "busy-0", "busy-2"))
    placed = cluster.settle()["busy-flow"]
    assert isinstance(placed, dict)
    assert "busy-1" not in placed.values()


def test_two_inputs_meet_where_the_paths_do(world: Callable) -> None:
    """A join of two producers in two corners goes to the host between them and the consumer."""
    far = [
        [0.0, 20.0, 5.0, 20.0],
        [20.0, 0.0, 5.0, 20.0],
        [5.0, 5.0, 0.0, 5.0],
        [20.0, 20.0, 5.0, 0.0],
    ]
    cluster = world(hosts("join", 2.0, 2.0, 2.0, 2.0, regions="abcd"), far)
    joined = Flow(
        "join-flow",
        (Source("left", "join-0", 0.05), Source("right", "join-1", 0.05)),
        (Task("join-flow.join", 2.0, batch=0.5),),
        (Sink("out", "join-3"),),
        (
            Edge("left", "join-flow.join"),
            Edge("right", "join-flow.join"),
            Edge("join-flow.join", "out"),
        ),
    )
    cluster.submit(joined)
    assert {"join-flow.join": "join-2"} == cluster.settle()["join-flow"]


def test_what_does_not_fit_anywhere_is_refused_and_nothing_stays_booked(world: Callable) -> None:
    """A load of 1.2 of the largest host, in one piece."""
    cluster = world(hosts("full", 1.0, 1.0, 1.0), line(3, 1.0))
    cluster.submit(flow("full-flow", "full-0", "full-2", rate=0.3, tasks=1, work=4.0))
    assert "refused" == cluster.settle()["full-flow"]
    assert [0.0, 0.0, 0.0] == [cluster.promised(f"full-{k}") for k in range(3)]


def test_a_bound_that_no_placement_keeps_is_refused(world: Callable) -> None:
    """The way alone takes longer than the flow may."""
    cluster = world(hosts("late", 1.0, 1.0, 1.0), line(3, 10.0))
    cluster.submit(flow("late-flow", "late-0", "late-2", latency_bound_ms=15.0))
    assert "refused" == cluster.settle()["late-flow"]


def test_the_second_flow_finds_room_beside_the_first_and_no_host_is_overbooked(world: Callable) -> None:
    """Each flow takes 0.6 of a host."""
    cluster = world(hosts("room", 1.0, 1.0, 1.0), line(3, 1.0))
    placed = {}
    for name in ("room-a", "room-b"):
        cluster.submit(flow(name, "room-0", "room-2", rate=0.15, tasks=1, work=4.0))
        placed |= cluster.settle()
    assert 2 == len({host for each in placed.values() for host in each.values()})
    assert all(cluster.promised(f"room-{k}") < 0.98 for k in range(3))


def test_a_withdrawn_flow_leaves_nothing_behind(world: Callable) -> None:
    """What it had booked is free again."""
    cluster = world(hosts("gone", 1.0, 4.0, 1.0), line(3, 2.0))
    cluster.submit(flow("gone-flow", "gone-0", "gone-2"))
    cluster.settle()
    cluster.withdraw("gone-flow")
    assert "withdrawn" == cluster.settle()["gone-flow"]
    assert 0.0 == cluster.promised("gone-1")


def test_what_a_dead_host_ran_is_placed_elsewhere(world: Callable) -> None:
    """The best host dies; the next best takes over."""
    cluster = world(hosts("dead", 1.0, 4.0, 3.0, 1.0), [[0, 2, 3, 5], [2, 0, 1, 2], [3, 1, 0, 2], [5, 2, 2, 0]])
    cluster.submit(flow("dead-flow", "dead-0", "dead-3"))
    assert {"dead-flow.0": "dead-1", "dead-flow.1": "dead-1"} == cluster.settle()["dead-flow"]
    cluster.lose("dead-1")
    assert {"dead-flow.0": "dead-2", "dead-flow.1": "dead-2"} == cluster.settle()["dead-flow"]
