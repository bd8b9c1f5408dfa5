"""A host looks at its own queue: what it makes of what its tasks count, and what it says of it."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from placement.hotspots import NearParams
from services.host.cell.near_warnings import AGAIN_S, NearWarnings
from services.host.cell.queue_watch import Near, QueueWatch, TaskSeen
from services.host.cell.service import seen_tasks
from services.host.segment_plan import Input
from services.host.task_input import TaskInput
from services.registry.view import RegistryView
from tests.unit.cell.test_flow_model import counting, row
from topics.messages import HotSpotModel, Model, Policy, Sketch

PARAMS = NearParams()
LOOKS = round(1 / PARAMS.look_s)
SERVICE_US = 10_000.0
"""A hundred records a second are all that a host can do."""


def task(number: int, *, bound_ms: float | None = 500.0, waits: bool = False) -> TaskSeen:
    return TaskSeen((f"s{number}", 0), f"f{number}", "first", bound_ms, 0, 0.0, 0, waits)


def on(before: TaskSeen, *, came: int, done: int) -> TaskSeen:
    """The next look."""
    worked_us = before.worked_us + done * SERVICE_US
    return replace(before, done=before.done + done, worked_us=worked_us, lag=before.lag + came - done)


@dataclass
class Host:
    """A host that looks at tasks which go on as the test says."""

    tasks: list[TaskSeen]
    watch: QueueWatch = field(default_factory=lambda: QueueWatch("h", PARAMS))
    now_s: float = 0.0

    def play(self, seconds: float, *, came: int, done: int, look_s: float = PARAMS.look_s) -> list[list[Near]]:
        """What is seen at each look; so much of each task in each tenth of a second."""
        found, tenths = [], look_s / PARAMS.look_s
        for _ in range(round(seconds / look_s)):
            self.now_s += look_s
            self.tasks = [on(each, came=round(came * tenths), done=round(done * tenths)) for each in self.tasks]
            found.append(self.watch.look(self.tasks, now_s=self.now_s))
        return found


def test_a_host_that_keeps_up_sees_nothing() -> None:
    assert not any(Host([task(1)]).play(5, came=9, done=9))


def test_a_host_that_looks_late_does_not_take_it_for_a_burst() -> None:
    """A batch that takes a while keeps it from looking: what came in that time came in no less."""
    host = Host([task(1, bound_ms=150.0)])
    host.play(3, came=6, done=6)
    for _ in range(5):
        assert not any(host.play(0.4, came=6, done=6))
        assert not any(host.play(1.0, came=6, done=6, look_s=1.0))


def test_a_queue_that_fills_is_seen_before_who_comes_waits_for_too_long() -> None:
    """Half as much again as it can do: after one and a half seconds the mean of a second is beyond the bound, and its
    time has passed half a second later."""
    host = Host([task(1)])
    host.play(3, came=8, done=8)
    looks = host.play(2, came=15, done=10)
    first = next(number for number, spots in enumerate(looks) if spots)
    assert 0.5 * LOOKS < first < 1.4 * LOOKS
    [near] = looks[first]
    assert ("f1", "h", "first", ("f1",)) == (near.spot.flow, near.spot.host, near.operator, near.leaving())


def test_tasks_of_a_host_wait_for_each_other() -> None:
    """Each alone would have room."""
    host = Host([task(1), task(2, bound_ms=None)])
    host.play(3, came=4, done=4)
    looks = host.play(2, came=8, done=5)
    assert {"f1"} == {near.spot.flow for near in looks[-1]}, "one without a bound is in no danger"


def test_a_task_whose_functions_run_elsewhere_keeps_nobody_waiting() -> None:
    """Eight tenths of a processor each: together too much, if it were one."""
    host = Host([task(1, waits=True), task(2, waits=True)])
    assert not any(host.play(5, came=8, done=8))
    looks = host.play(2, came=16, done=10)
    assert {"f1", "f2"} == {near.spot.flow for near in looks[-1]}


def test_what_a_flow_takes_beside_waiting_counts() -> None:
    """It is what the quietest second took: the others may have waited."""
    graph = counting()
    quick, slow = (row(graph, "kept", 1, latency_ms=Sketch.of([took_ms])) for took_ms in (50.0, 480.0))
    for last, sees in ((quick, False), (slow, True)):
        host = Host([replace(task(1), flow=quick.flow)])
        for each in [slow] * 5 + [last]:
            host.watch.measured([each])
        host.play(2, came=8, done=8)
        assert sees is any(host.play(0.5, came=12, done=10))


def test_a_host_that_gets_nothing_done_goes_on_warning() -> None:
    """After ten seconds it knew no more what a record takes, and took what waits for no work."""
    host = Host([task(1)])
    host.play(3, came=8, done=8)
    assert all(host.play(30, came=8, done=0)[LOOKS:])


def test_a_task_with_nothing_to_do_is_in_no_danger_from_others() -> None:
    """What a record of it once took is no reason to warn of it."""
    host = Host([task(1), task(2)])
    host.play(3, came=4, done=4)
    idle = host.tasks[1]
    for _ in range(15 * LOOKS):
        host.now_s += PARAMS.look_s
        host.tasks = [on(host.tasks[0], came=12, done=10), idle]
        found = host.watch.look(host.tasks, now_s=host.now_s)
    assert {"f1"} == {near.spot.flow for near in found}


def test_a_queue_that_is_long_for_long_is_not_taken_for_what_a_flow_always_takes() -> None:
    """Beside ten seconds of waiting every second took longer than the bound: the host fell silent, and nobody moved."""
    graph = counting()
    host = Host([replace(task(1), flow=row(graph, "kept", 1).flow)])
    host.play(3, came=8, done=8)
    for second in range(30):
        looks = host.play(1, came=12, done=10)
        late_ms = 40.0 + host.tasks[0].lag * SERVICE_US / 1e3
        host.watch.measured([row(graph, "kept", second, latency_ms=Sketch.of([late_ms]))])
    assert all(looks), "thirty seconds on it still says so"


def test_what_is_timed_and_what_waits_are_of_the_same_records() -> None:
    """Seven records come while seven others are worked off. Timed by the last of each batch, a flow seemed to take
    nothing beside waiting, however long its way to here is."""
    graph, source = counting(), TaskInput(Input("in", "in", 1, None, None, 0, None), 0)
    flow = row(graph, "kept", 1).flow
    rest_ms, batch, service_ms = 40.0, 7, round(SERVICE_US / 1e3)
    took_ms = batch * service_ms
    watch, seen = QueueWatch("h", PARAMS), replace(task(1, bound_ms=10_000.0), flow=flow)
    for second in range(1, 31):
        for look in range(LOOKS):
            now_ms = 1_000 * second + look * round(1e3 * PARAMS.look_s)
            done = (now_ms // took_ms - 1) * batch
            lag = now_ms // service_ms + 1 - done
            watch.look([replace(seen, done=done, worked_us=done * SERVICE_US, lag=lag)], now_s=now_ms / 1e3)
        timed_ms = []
        for finished_ms in range(1_000 * second - 1_000 * second % took_ms, 1_000 * second + 1_000, took_ms):
            came_ms = range(finished_ms - 2 * took_ms, finished_ms - took_ms, service_ms)
            born_ms = source.sample([SimpleNamespace(timestamp=each_ms) for each_ms in came_ms]).timestamp
            timed_ms.append(rest_ms + finished_ms - born_ms)
        watch.measured([row(graph, "kept", second, latency_ms=Sketch.of(timed_ms))])
    assert rest_ms == pytest.approx(watch._base_ms(flow), abs=10.0)


def test_a_task_that_came_lately_is_not_judged() -> None:
    """What waits for it came before."""
    assert not any(Host([replace(task(1), lag=90)]).play(PARAMS.lately_s, came=8, done=10))


def test_who_goes_through_two_segments_here_waits_before_each() -> None:
    """Two segments with half of the work are as bad as one with all of it."""
    looks = {}
    for tasks in ((task(1),), (task(1), replace(task(2), flow="f1"))):
        host = Host([*tasks])
        host.play(3, came=8 // len(tasks), done=8 // len(tasks))
        found = host.play(2, came=14 // len(tasks), done=10 // len(tasks))
        looks[len(tasks)] = next(number for number, near in enumerate(found) if near)
    assert looks[2] < looks[1]


def test_of_several_queues_of_a_flow_the_surest_is_told_once() -> None:
    host = Host([replace(task(number, waits=True), flow="f1") for number in range(4)])
    host.play(3, came=8, done=8)
    assert 1 == len(host.play(2, came=16, done=10)[-1])


def test_who_has_filled_the_queue_leaves_alone_and_takes_it_along() -> None:
    """Its burst is over, and as much comes to all three; but of what waits more than a second is its own."""
    host = Host([task(1), task(2), task(3)])
    for number in range(46):
        came, done = (20 if 30 <= number < 40 else 2), (6 if number >= 30 else 2)
        host.now_s += PARAMS.look_s
        host.tasks = [*(on(each, came=2, done=2) for each in host.tasks[:2]), on(host.tasks[2], came=came, done=done)]
        found = host.watch.look(host.tasks, now_s=host.now_s)
    assert ["f1", "f2", "f3"] == [each.spot.flow for each in found], "all wait in the same queue"
    assert {("f3",)} == {each.leaving() for each in found}


# What is said.


def told(warnings: NearWarnings, spots: list[Near], now_s: float) -> list[HotSpotModel]:
    models = warnings.told(spots, now_ms=now_s * 1e3)
    assert all(isinstance(model, Model) and model.key == "hotspot/f1/h" for model in models)
    return [model.body for model in models if isinstance(model.body, HotSpotModel)]


def near() -> list[Near]:
    host = Host([task(1)])
    host.play(3, came=8, done=8)
    return host.play(2, came=15, done=10)[-1]


def test_a_warning_is_said_at_once_again_after_some_seconds_and_taken_back() -> None:
    """A leader that takes over must hear of it, too; in between who should leave must not change."""
    warnings, spots = NearWarnings("h", PARAMS), near()
    [first] = told(warnings, spots, 100.0)
    assert ("f1", "h", "first", ()) == (first.flow, first.host, first.operator, first.leaving)
    assert first.in_s
    for later_s in (0.1, 2.0, AGAIN_S - 0.1):
        assert [] == told(warnings, spots, 100.0 + later_s)
    again_s = 100.0 + AGAIN_S
    assert 1 == len(told(warnings, spots, again_s))
    assert [] == told(warnings, [], again_s + 0.5), "it may come back within a moment"
    [last] = told(warnings, [], again_s + PARAMS.stands_s + 0.1)
    assert last.in_s is None
    assert [] == told(warnings, [], 200.0)
    assert 1 == warnings.given


def test_a_warning_tells_how_fast_who_should_leave_comes_now() -> None:
    """Of 150 a second, which came as 80 until two seconds before, less what may be chance: never more than comes."""
    [first] = told(NearWarnings("h", PARAMS), near(), 100.0)
    [rate] = first.rates
    assert (("f1", "s1"), rate) == ((rate.flow, rate.segment), first.rate_of("f1"))
    assert 150.0 - 150.0**0.5 == pytest.approx(rate.per_s, abs=0.1)
    spots = near_two(4, 7)
    for each in NearWarnings("h", PARAMS).told(spots, now_ms=1e5):
        assert isinstance(each.body, HotSpotModel)
        assert each.body.leavers == tuple(rate.flow for rate in each.body.rates), "of those, and of nobody else"


def test_a_rate_is_that_of_all_partitions_where_most_comes() -> None:
    """A second segment of the flow gets what the first has let through."""
    first = [replace(task(1), slot=("first", part)) for part in range(2)]
    host = Host([*first, replace(task(1), slot=("second", 0))])
    for number in range(50):
        came = 3 if number < 30 else 7
        host.now_s += PARAMS.look_s
        host.tasks = [*(on(each, came=came, done=3) for each in host.tasks[:2]), on(host.tasks[2], came=3, done=3)]
        found = host.watch.look(host.tasks, now_s=host.now_s)
    rate = found[0].rates["f1"]
    assert ("first", pytest.approx(140.0 - 140.0**0.5, abs=0.1)) == (rate.segment, rate.per_s)


def test_a_flow_that_is_frozen_is_not_named_to_leave() -> None:
    """Its leader would look for nothing, and for five seconds nobody else did."""
    host = Host([replace(task(1), stays=True), task(2)])
    host.play(3, came=4, done=4)
    for tasks, leaving in ((host.tasks, ("f2",)), ([replace(each, stays=True) for each in host.tasks], ("f1",))):
        host.tasks = tasks
        found = host.play(2, came=8, done=5)[-1]
        said = NearWarnings("h", PARAMS).told(found, now_ms=1e5)
        assert ["hotspot/f1/h", "hotspot/f2/h"] == [model.key for model in said]
        assert isinstance(said[0].body, HotSpotModel)
        assert leaving == said[0].body.leavers, "if nobody may be moved, each is told of itself"


@pytest.mark.parametrize(
    ("by_file", "laid_down", "stays"),
    [("auto", None, False), ("freeze", None, True), ("approve", None, True), ("freeze", "auto", False)],
)
def test_whose_moves_are_frozen_is_what_a_person_laid_down_else_what_the_file_says(
    by_file: str, laid_down: Literal["auto"] | None, stays: bool
) -> None:
    view = RegistryView()
    if laid_down is not None:
        view.take(Policy(subject="flow", name="f", policy=laid_down, changed_ms=1))
    played = SimpleNamespace(rests=False, waits=False, meter=SimpleNamespace(done=1, worked_us=1.0))
    graph = SimpleNamespace(spec=SimpleNamespace(qos=SimpleNamespace(latency_ms=None), moves=by_file))
    plan = SimpleNamespace(segment=SimpleNamespace(id="f.1", operators=("o",)), flow="f", graph=graph)
    segment: Any = SimpleNamespace(plan=plan, tasks=lambda: {0: played}, lag_of=lambda task: 0)
    assert [stays] == [each.stays for each in seen_tasks(segment, view)]


def test_all_that_are_in_danger_from_a_queue_name_the_same_one_to_leave() -> None:
    """Seen a moment apart, with rates that have changed: were others named each time, the host would soon be empty."""
    spots = [near_two(7, 4), near_two(4, 7)]
    answers = [each[0].leaving() for each in spots]
    assert answers[0] != answers[1], "left to themselves they differ"
    warnings = NearWarnings("h", PARAMS)
    said = [
        model.body
        for now_s, seen, flow in ((100.0, spots[0], 0), (100.4, spots[1], 1))
        for model in warnings.told([seen[flow]], now_ms=now_s * 1e3)
    ]
    leaving = [body.leavers for body in said if isinstance(body, HotSpotModel)]
    assert [answers[0]] * 2 == leaving
    [later] = warnings.told([spots[1][1]], now_ms=(100.4 + AGAIN_S) * 1e3)[:1]
    assert isinstance(later.body, HotSpotModel)
    assert answers[1] == later.body.leavers


def near_two(first: int, second: int) -> list[Near]:
    """Two flows to which so many come in a tenth of a second, on a host that does ten; both are in danger."""
    host = Host([task(1), task(2)])
    for number in range(50):
        grown = number >= 30
        host.now_s += PARAMS.look_s
        host.tasks = [
            on(each, came=came + 2 * grown, done=5) for each, came in zip(host.tasks, (first, second), strict=True)
        ]
        found = host.watch.look(host.tasks, now_s=host.now_s)
    assert ["f1", "f2"] == [each.spot.flow for each in found]
    return found
