"""One segment on a host, kept as the registry wants it: told with a segment that only takes notes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from services.host import tenant as tenant_module
from services.host.blueprint import CannotRunError
from services.host.seat import Seat
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task_context import TaskContext
from services.host.tenant import House, Tenant
from services.host.wanted import Wanted
from topics.flow.file import parse_graph

NOTES: list[str] = []
STOOD_DOWN: list[int] = []
"""Partitions of which it was said that they are not followed any more."""
ELSEWHERE: set[tuple[str, int, int]] = set()
"""Segments' partitions that have gone to another host, with the epochs they had here."""


class Noted:
    """Stands for a segment."""

    def __init__(self, plan: SegmentPlan, _context: TaskContext, **_more: Any) -> None:
        self.plan = plan
        self.seats: dict[int, Seat] = {}
        self.standbys: tuple[int, ...] = ()

    async def begin(self) -> None:
        NOTES.append("begin")

    async def own(self, partition: int, epoch: int, _origin: str | None = None) -> None:
        NOTES.append(f"own {partition}@{epoch}")
        self.seats[partition] = Seat(partition, epoch)
        self.standbys = tuple(each for each in self.standbys if each != partition)

    async def release(self, partition: int) -> None:
        NOTES.append(f"release {partition}")
        del self.seats[partition]

    async def stand_by(self, partition: int) -> None:
        NOTES.append(f"stand by {partition}")
        self.standbys = tuple({*self.standbys, partition})

    async def stand_down(self, partition: int) -> None:
        NOTES.append(f"stand down {partition}")
        self.standbys = tuple(each for each in self.standbys if each != partition)

    async def stop(self) -> None:
        NOTES.append("stop")


class Trouble(SimpleNamespace):
    """What the blueprint says: a plan, or why there is none."""

    error: Exception | None = None
    plan: SegmentPlan


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch, flow_text: str) -> Callable[..., list[str]]:
    """Runs a tenant through steps, each of which changes what is wanted; returns what was reported."""
    NOTES.clear()
    STOOD_DOWN.clear()
    ELSEWHERE.clear()
    monkeypatch.setattr(tenant_module, "Segment", Noted)
    graph = parse_graph(flow_text)
    trouble = Trouble(plan=plan_segment(graph, graph.segments[0].id, {"orders": 4, "results": 4}))

    async def blueprint(*_given: Any, **_more: Any) -> SegmentPlan:
        NOTES.append("plan")
        if trouble.error is not None:
            raise trouble.error
        return trouble.plan

    monkeypatch.setattr(tenant_module, "blueprint", blueprint)

    def tell(*steps: Callable[[Tenant, Trouble], None]) -> list[str]:
        reported: list[str] = []

        class Reports:
            def state(self, slot: tuple[str, int], epoch: int, state: str, reason: str | None, **_more: Any) -> None:
                reported.append(f"{slot[1]}@{epoch} {state}: {reason}")

            def forget(self, _segment: str, partition: int) -> None:
                reported.append(f"{partition} forgotten")

            def stood_down(self, _segment: str, partition: int) -> None:
                STOOD_DOWN.append(partition)

            def add(self, _segment: Any) -> None: ...

            def remove(self, _segment: Any) -> None: ...

        async def ours(*_slot: Any) -> bool:
            return True

        async def run() -> None:
            house: Any = House(
                context=TaskContext("nowhere:1"),
                broker=SimpleNamespace(),
                reports=Reports(),
                is_ours=lambda *slot: True,
                still_ours=ours,
                is_elsewhere=lambda *slot: slot in ELSEWHERE,
                drained=ours,
                let_go=lambda: None,
                data_folder=Path("/nowhere"),
            )
            tenant = Tenant("shop.1", house)
            running: asyncio.Task[None] | None = None
            for step in steps:
                step(tenant, trouble)
                running = running or asyncio.create_task(tenant.run())
                await quiet(running)
            assert running is not None
            running.cancel()

        asyncio.run(run())
        return reported

    return tell


async def quiet(running: Awaitable[None]) -> None:
    """Lets everything happen that can happen without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_who_owns_a_partition_or_ends_no_longer_says_that_it_follows(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """Its word would be repeated for ever, and a later move back would take it for warm before it has read anything."""
    both = {0: placement(), 1: placement(partition=1)}
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), {}, both)),
        lambda tenant, _: tenant.want(Wanted(flow(), {0: both[0]}, {1: both[1]})),
        lambda tenant, trouble: (
            setattr(trouble, "plan", replace(trouble.plan, commit_interval_s=0.01)),
            tenant.want(Wanted(flow(revision=2, text="other"), {0: both[0]}, {1: both[1]})),
        ),
    )
    assert [0, 1, 0] == STOOD_DOWN


def test_partitions_are_owned_moved_and_given_up(story: Callable, flow: Callable, placement: Callable) -> None:
    """With a newer epoch a partition is taken anew; without any the segment ends."""
    first = {0: placement(), 1: placement(partition=1)}
    then = {1: placement(partition=1, epoch=2), 2: placement(partition=2)}
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), first)),
        lambda tenant, _: tenant.want(Wanted(flow(), then)),
        lambda tenant, _: tenant.want(Wanted()),
    )
    assert ["plan", "begin", "own 0@1", "own 1@1"] == NOTES[:4]
    assert ["release 0", "release 1", "own 2@1", "own 1@2"] == NOTES[4:8]
    assert ["stop"] == NOTES[8:]


def test_a_new_text_that_changes_nothing_here_disturbs_nothing(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """Another segment of the flow may have changed; this one runs on."""
    placements = {0: placement()}
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), placements)),
        lambda tenant, _: tenant.want(Wanted(flow(revision=2, text="other"), placements)),
    )
    assert ["plan", "begin", "own 0@1", "plan"] == NOTES


def test_a_plan_that_reads_or_writes_elsewhere_is_a_new_segment(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """What is fixed for a segment's life is fixed."""
    placements = {0: placement()}

    def change(tenant: Tenant, trouble: Trouble) -> None:
        trouble.plan = replace(trouble.plan, commit_interval_s=0.01)
        tenant.want(Wanted(flow(revision=2, text="other"), placements))

    story(lambda tenant, _: tenant.want(Wanted(flow(), placements)), change)
    assert ["plan", "begin", "own 0@1", "plan", "stop", "begin", "own 0@1"] == NOTES


def test_a_new_latency_bound_reaches_a_running_segment(
    story: Callable, flow: Callable, placement: Callable, flow_text: str
) -> None:
    """2 s leave the shortest commit interval as it was, and still bound how far a slow one may be stretched."""
    placements = {0: placement()}

    def bound(tenant: Tenant, trouble: Trouble) -> None:
        graph = parse_graph(flow_text + "qos: {latency_ms: 2000}\n")
        before, trouble.plan = trouble.plan, plan_segment(graph, graph.segments[0].id, {"orders": 4, "results": 4})
        assert before.commit_interval_s == trouble.plan.commit_interval_s
        tenant.want(Wanted(flow(revision=2, text="other"), placements))

    story(lambda tenant, _: tenant.want(Wanted(flow(), placements)), bound)
    assert ["plan", "begin", "own 0@1", "plan", "stop", "begin", "own 0@1"] == NOTES


def test_what_cannot_run_parks_with_its_reason_and_is_tried_when_things_change(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """A person reads the reason; what they do about it is enough."""
    placements = {0: placement()}

    def fail(tenant: Tenant, trouble: Trouble) -> None:
        trouble.error = CannotRunError("no such topic")
        tenant.want(Wanted(flow(), placements))

    def mend(tenant: Tenant, trouble: Trouble) -> None:
        trouble.error = None
        tenant.want(Wanted(flow(revision=2), placements))

    assert ["0@1 parked: no such topic"] == story(fail, mend)
    assert ["plan", "plan", "begin", "own 0@1"] == NOTES


def test_a_flow_that_is_not_known_yet_is_no_trouble_at_first(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """The placement's topic may be the faster one."""
    placements = {0: placement(revision=2)}
    told = story(
        lambda tenant, _: tenant.want(Wanted(flow(), placements)),
        lambda tenant, _: tenant.want(Wanted(flow(revision=2), placements)),
    )
    assert ["recovering"] == [line.split()[1].rstrip(":") for line in told]
    assert ["plan", "begin", "own 0@1"] == NOTES


def test_a_partition_that_is_not_there_parks_alone(story: Callable, flow: Callable, placement: Callable) -> None:
    """The others run."""
    told = story(lambda tenant, _: tenant.want(Wanted(flow(), {0: placement(), 9: placement(partition=9)})))
    assert ["9@1 parked: the segment has 4 partitions"] == told
    assert ["plan", "begin", "own 0@1"] == NOTES


def test_standbys_come_and_go(story: Callable, flow: Callable, placement: Callable) -> None:
    """A segment that is only followed here needs no partition of its own."""
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), {}, {3: placement(partition=3, host="b")})),
        lambda tenant, _: tenant.want(Wanted(flow(), {0: placement()})),
    )
    assert ["plan", "begin", "stand by 3", "stand down 3", "own 0@1"] == NOTES


def test_a_partition_that_takes_long_to_give_up_holds_up_nobody_but_itself(
    story: Callable, flow: Callable, placement: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow function has twenty seconds to end; another partition of the segment may wait to run here meanwhile."""
    drained = asyncio.Event()
    release = Noted.release

    async def slow(self: Noted, partition: int) -> None:
        NOTES.append(f"draining {partition}")
        await drained.wait()
        await release(self, partition)

    monkeypatch.setattr(Noted, "release", slow)
    ours = {0: placement(), 1: placement(partition=1)}
    newer = {0: placement(epoch=2), 1: ours[1]}
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), {0: ours[0]})),
        lambda tenant, _: tenant.want(Wanted(flow(), {1: ours[1]})),
        lambda tenant, _: tenant.want(Wanted(flow(), newer)),
        lambda tenant, _: drained.set(),
    )
    assert ["draining 0", "own 1@1", "release 0", "own 0@2"] == NOTES[3:]


def test_what_was_given_up_badly_is_given_up_again(
    story: Callable, flow: Callable, placement: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its seat would stay, and the partition could never come back."""
    monkeypatch.setattr(tenant_module, "RETRY_S_MIN", 0.0)
    release, fails = Noted.release, [KafkaError("not now")]

    async def at_first(self: Noted, partition: int) -> None:
        if fails:
            raise fails.pop()
        await release(self, partition)

    monkeypatch.setattr(Noted, "release", at_first)
    story(
        lambda tenant, _: tenant.want(Wanted(flow(), {0: placement()})),
        lambda tenant, _: tenant.want(Wanted(flow(), {0: placement(epoch=2)})),
    )
    assert ["release 0", "own 0@2"] == NOTES[3:]


def test_what_was_parked_without_a_seat_is_taken_back_when_it_is_not_wanted_any_more(
    story: Callable, flow: Callable, placement: Callable
) -> None:
    """Until it was started again the host told of it every three seconds, over the words of the new owner."""

    def fail(tenant: Tenant, trouble: Trouble) -> None:
        trouble.error = CannotRunError("no such topic")
        tenant.want(Wanted(flow(), {each: placement(partition=each) for each in range(3)}))

    def one_moves(tenant: Tenant, _: Trouble) -> None:
        ELSEWHERE.add(("shop.1", 0, 1))
        tenant.want(Wanted(flow(), {each: placement(partition=each) for each in (1, 2)}))

    def one_is_mended(tenant: Tenant, trouble: Trouble) -> None:
        trouble.error = None
        tenant.want(Wanted(flow(revision=2), {2: placement(partition=2)}))

    told = story(fail, one_moves, one_is_mended, lambda tenant, _: tenant.want(Wanted()))
    parked = [f"{partition}@1 parked: no such topic" for partition in range(3)]
    assert [*parked, "0 forgotten", *parked[1:], "1@1 stopped: None", "2@1 stopped: None"] == told
