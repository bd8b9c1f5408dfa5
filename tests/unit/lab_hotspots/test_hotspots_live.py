"""The live bench of hot spots: what is sent, how what is seen is judged, and who hears what."""

import asyncio
import time
from typing import Any

import numpy as np
import pytest

from services.lab.experiments import EXPERIMENTS
from services.lab.hotspots.bursts import MOST_LOAD, Bursts, drawn
from services.lab.hotspots.crier import cried, is_cried
from services.lab.hotspots.flows import BOUND_MS, DEAR, LAST, SERVICE_MS, record, text_of
from services.lab.hotspots.judged import HOLDS_S, company_of, samples_of, verdicts_of
from services.lab.hotspots.life import STEPS, Life, where_in
from services.lab.hotspots.news import News
from services.lab.hotspots.processor import Processor
from services.lab.hotspots.programs.played_host import PlayedMeter, is_ahead
from services.lab.hotspots.records import Trips
from services.lab.samples import rows
from services.lab.targets import Outcome, judge
from services.modelling.near_read import is_of_host
from services.operators.batch import Batch
from services.operators.wiring import flow_program
from services.registry.view import RegistryView
from topics.flow.file import parse_graph
from topics.messages import ForecastModel, HotSpotModel, Model, Placement, RateModel, SlackModel
from topics.messages.models import AnyBody

SECOND_US = 1_000_000
TRACES = {"minutes": np.array([1.0, 5.0, 2.0] * 200), "events, 1 s": np.array([0.0, 0.0, 9.0, 1.0] * 200)}


def model(body: AnyBody, second: int = 100, key: str = "") -> Model:
    return Model(key or f"hotspot/{getattr(body, 'flow', '')}", second, 10, 5, None, 0, 0, body)


def spot(flow: str, in_s: float | None, leaving: tuple[str, ...] = ()) -> HotSpotModel:
    return HotSpotModel(flow, "h1", "o", in_s, 0.0, 0.9, leaving)


# What is sent.


def test_the_same_seed_sends_the_same_records() -> None:
    """Both lives of a trial are to meet the same bursts."""
    first, again = (drawn(TRACES, 4, 100, seed=3) for _ in range(2))
    assert np.array_equal(first.loads, again.loads)
    assert all(np.array_equal(a, b) for a, b in zip(first.due_s(), again.due_s(), strict=True))
    assert not np.array_equal(first.loads, drawn(TRACES, 4, 100, seed=4).loads)


def test_no_flow_comes_faster_than_an_empty_host_carries() -> None:
    """Else its bound would break wherever it runs, and nothing could be learnt from that."""
    loads = drawn(TRACES, 20, 200, seed=1).loads
    assert pytest.approx(MOST_LOAD) == loads.max()
    assert (20, 200) == loads.shape


def test_records_come_as_often_as_the_load_says() -> None:
    """Half a host is half of what it can do in each second, and in a silent second none comes."""
    (due_s,) = Bursts(1, np.array([[0.5] * 40 + [0.0] * 10])).due_s()
    assert 0.9 < len(due_s) * SERVICE_MS / 1e3 / (0.5 * 40) < 1.1
    assert np.all(np.diff(due_s) >= 0)
    assert due_s[-1] < 40.0


def test_a_record_gives_one_result_that_says_when_it_was_sent() -> None:
    """By that its latency is known, and repeated results are."""
    program = flow_program(parse_graph(text_of("f")))
    values = [record(1, 1_700_000_000_000_000 + number) for number in range(3)]
    batch = Batch(values, [None] * 3, [0] * 3, range(3), 0)
    results = program.process(program.inputs[0], batch)[LAST].values
    assert [value["sent"] for value in values] == [each["sent"] for each in results]
    assert 1 == len(parse_graph(text_of("f")).segments)


# Where it waits.


async def _served(*asked: tuple[float, float]) -> list[int]:
    """In which order turns came, of those asked for at once: when sent, for how long."""
    processor, came = Processor(), list[int]()
    turns = [processor.turn(*each) for each in asked]

    async def wait(number: int) -> None:
        await turns[number]
        came.append(number)

    await asyncio.gather(*(wait(number) for number in range(len(turns))))
    return came


def test_who_was_sent_first_is_served_first() -> None:
    """Whichever flow it is of: a host is one queue, as in the simulated half."""
    assert [1, 2, 0] == asyncio.run(_served((30.0, 0.01), (10.0, 0.01), (20.0, 0.01)))


def test_a_processor_does_one_thing_after_the_other() -> None:
    """Flows on one host are in each other's way; else it could not become a hot spot."""
    begun_s = time.monotonic()
    asyncio.run(_served((1.0, 0.05), (2.0, 0.05), (3.0, 0.05)))
    assert time.monotonic() - begun_s >= 0.15


def test_a_turn_that_nobody_waits_for_takes_no_time() -> None:
    """A task that moves away leaves its turn to others."""

    async def left() -> float:
        processor, begun_s = Processor(), time.monotonic()
        gone, stays = processor.turn(1.0, 30.0), processor.turn(2.0, 0.01)
        gone.cancel()
        await stays
        return time.monotonic() - begun_s

    assert asyncio.run(left()) < 10.0


def test_what_is_played_is_measured_as_work() -> None:
    """Models and ants reckon with what hosts measure; operators beside the dear one take no time of it."""
    meter = PlayedMeter("f", "s", 0, first=DEAR)
    meter.begun()
    meter.probe(DEAR, 4, 4)
    meter.probe(LAST, 4, 4)
    rows = {row.operator: row.service_us for row in meter.report("h", 1, lag=0, state_bytes={}, bytes_out=0)}
    assert 4 * SERVICE_MS * 1e3 <= rows[DEAR].sum < 4 * SERVICE_MS * 1e3 + 1e6
    assert rows[LAST].sum < SERVICE_MS * 1e3


# What is seen.


def test_a_record_belongs_to_the_second_in_which_it_was_sent() -> None:
    """What has no result counts with its age; a repeated result changes nothing."""
    trips = Trips()
    sent = [trips.send(at_us) for at_us in (10 * SECOND_US, 10 * SECOND_US, 12 * SECOND_US)]
    trips.come(sent[0], sent[0] + 100_000)
    trips.come(sent[0], sent[0] + 900_000)
    trips.come(sent[1], sent[1] + 300_000)
    now_us = 15 * SECOND_US
    assert pytest.approx([200.0, 0.0, 3_000.0]) == trips.latencies_ms(10, 3, now_us=now_us).tolist()
    assert (0, 1) == (trips.missing(10, 2), trips.missing(10, 3))


def test_a_bound_is_broken_once_records_have_waited_longer_than_it() -> None:
    """Younger ones tell nothing yet: all of them are young."""
    trips, bound_us = Trips(), int(BOUND_MS * 1e3)
    for at_us in range(0, 2 * SECOND_US, 100_000):
        trips.send(at_us)
    assert not trips.is_late(bound_us - 1)
    assert trips.is_late(bound_us + SECOND_US)
    for sent_us in trips.sent_us:
        trips.come(sent_us, sent_us + bound_us // 2)
    assert not trips.is_late(bound_us + SECOND_US)


def test_all_steps_of_a_life_are_judged_as_the_crier_does_while_it_goes_on() -> None:
    """By what was known then: a result that came later did not count as so late yet."""
    trips, rng = Trips(), np.random.default_rng(5)
    for at_us in np.sort(rng.integers(90 * SECOND_US, 110 * SECOND_US, 400)).tolist():
        trips.send(at_us)
    due = {
        sent_us: sent_us + int(BOUND_MS * (1_600 if 103 * SECOND_US <= sent_us < 106 * SECOND_US else 200))
        for sent_us in trips.sent_us
    }
    looks = []
    for step in range(80):
        now_us = 102 * SECOND_US + (step + 1) * SECOND_US // 10
        for sent_us, came_us in due.items():
            if came_us <= now_us:
                trips.come(sent_us, came_us)
        looks.append(trips.is_late(now_us))
    assert {True, False} == set(looks)
    for sent_us, came_us in due.items():
        trips.come(sent_us, came_us)
    assert looks == trips.late(102, 8, 10).tolist()


def test_a_warning_stands_from_when_it_was_read_until_it_is_taken_back() -> None:
    """Not from the second that it rests on: nobody had it then."""
    news = News()
    for at_s, body in ((101.5, spot("f", 4.0)), (103.2, spot("f", None)), (103.9, spot("g", 1.0))):
        news.take(model(body), at_s)
    assert [set(), {"f"}, {"f"}, {"g"}] == news.warned(100, 4, 1)
    assert [set()] * 3 + [{"f"}] * 3 + [set()] + [{"g"}] == news.warned(100, 4, 2)
    assert {"g"} == set(news.standing())


def test_a_bound_that_is_broken_is_told_and_no_warning_of_it_stands() -> None:
    """Models come seconds late: what they say of a break that is over would be judged as foreseeing the next one."""
    news = News()
    news.take(model(spot("f", 4.0)), 100.1)
    news.take(model(spot("f", 0.0, ("g",))), 101.1)
    assert [{"f"}, set()] == news.warned(100, 2, 1)
    assert ("g",) == news.standing()["f"].leavers


def test_what_a_host_takes_back_the_service_may_still_say() -> None:
    """Each has warnings of its own; they are also judged apart."""
    news = News()
    news.take(model(spot("f", 4.0)), 100.1)
    for at_s, in_s in ((100.2, 1.0), (101.2, None)):
        news.take(model(spot("f", in_s), key="hotspot/f/h1"), at_s)
    assert [{"f"}] * 3 == news.warned(100, 3, 1)
    assert [{"f"}, set(), set()] == news.warned(100, 3, 1, is_of_host)
    assert {"f"} == set(news.standing())


def test_models_are_as_late_as_they_come_after_the_end_of_their_second() -> None:
    news = News()
    news.take(model(SlackModel("f", 500.0, 20.0, 480.0), second=100), 103.0)
    assert pytest.approx([2.0]) == news.behind_s(100, 5)
    assert {"f"} == news.known()


def test_flows_that_share_a_host_are_in_each_others_company() -> None:
    shared = company_of({"f": frozenset({"h1"}), "g": frozenset({"h1"}), "k": frozenset({"h2"})})
    assert frozenset({("h1", "f"), ("h1", "g")}) == shared["f"]
    assert frozenset({("h2", "k")}) == shared["k"]


def test_where_a_flow_runs_is_what_the_registry_says() -> None:
    view = RegistryView()
    parts: dict[str, Any] = {"flow": "f", "revision": 1, "operators": ("o",), "placed_ms": 0}
    view.placements["s", 0] = Placement(segment="s", partition=0, epoch=1, host="h1", **parts)
    assert {"f": frozenset({"h1"})} == where_in(view, {("s", 0): "f", ("t", 0): "g"})


# Who hears what.


def test_who_reacts_hears_of_no_forecast() -> None:
    """But of what is measured, and of bounds that are broken."""
    forecast = ForecastModel("f", "o", 1.0, (1,), (2.0,), (0.1,))
    assert is_ahead(model(forecast))
    assert is_ahead(model(spot("f", 1.0)))
    assert not is_ahead(model(spot("f", 0.0))), "the service says that it is broken"
    assert not is_ahead(cried("f", "o", "h1", None, now_s=100.0))
    assert not is_ahead(model(RateModel("f", "s", "o", 1.0, 1.0, 10)))


def test_the_crier_names_those_that_the_service_lets_leave() -> None:
    """Who reacts is to be no worse off than by being late."""
    told = cried("f", "o", "h2", spot("f", 3.0, ("g",)), now_s=100.7)
    assert isinstance(told.body, HotSpotModel)
    assert (100, "h1", ("g",)) == (told.second, told.body.host, told.body.leavers)
    alone = cried("f", "o", "h2", None, now_s=100.7)
    assert isinstance(alone.body, HotSpotModel)
    assert ("h2", ("f",)) == (alone.body.host, alone.body.leavers)


def test_what_the_crier_says_is_no_warning_of_the_service() -> None:
    news, told = News(), cried("f", "o", "h1", None, now_s=100.0)
    assert is_cried(told)
    news.take(told, 100.0)
    assert [] == news.heard


# How it is judged.


def life(latency_ms: dict[int, float], warned: set[int], *, moved_at: int = 99) -> Life:
    """One flow for 30 s."""
    latencies = np.full((30, 1), 20.0)
    for second, value in latency_ms.items():
        latencies[second] = value
    return Life(
        ("f",),
        latencies,
        np.repeat(latencies > BOUND_MS, STEPS, axis=0),
        {"": [{"f"} if second in warned else set() for second in range(30) for _ in range(STEPS)]},
        [{"f": frozenset({"h1" if second < moved_at else "h2"})} for second in range(30)],
        moves=1,
        pauses_ms=[200.0],
        behind_s=[2.0],
        busy=0.5,
        missing=0,
    )


def test_a_warning_is_judged_by_what_records_took() -> None:
    verdicts = verdicts_of(life({20: 2_000.0, 21: 2_000.0}, {16, 17}))
    assert (1, 0, 0, [4 * STEPS]) == (verdicts.hits, verdicts.misses, verdicts.false, verdicts.leads_s)
    assert (0, 1, 0) == _counts(life({20: 2_000.0}, set()))
    assert (0, 0, 1) == _counts(life({}, {5}))
    assert (0, 1, 1) == _counts(life({5 + HOLDS_S + 1: 2_000.0}, {5}))


def test_a_warning_of_a_flow_that_moved_is_not_judged() -> None:
    """Nobody knows what would have been."""
    assert (0, 0, 0) == _counts(life({}, {5}, moved_at=7))


def _counts(lived: Life) -> tuple[int, int, int]:
    verdicts = verdicts_of(lived)
    return verdicts.hits, verdicts.misses, verdicts.false


def test_rows_are_held_to_the_targets() -> None:
    """A foreseen break, half of the broken seconds, and a lead of more than two pauses reach all of them."""
    reacting, foreseeing = life({20: 2_000.0, 21: 2_000.0}, {17, 18}), life({21: 2_000.0}, set())
    found = {
        (row.measure, row.baseline): row.value
        for row in rows(samples_of({"reacting": reacting, "foreseeing": foreseeing}, 1))
    }
    assert (1.0, 1.0) == (found["recall, within 10 s", None], found["precision, within 10 s", None])
    assert (3.0, 0.4) == (
        found["lead time, median, within 10 s", None],
        found["twice the pause of a move, as measured", None],
    )
    assert 0.5 == found["flow-seconds beyond the bound, foreseeing", "reacting"]
    made = rows(samples_of({"reacting": reacting, "foreseeing": foreseeing}, 1))
    targets = EXPERIMENTS["models/hotspots-live"].targets
    assert [Outcome.MET] * 4 == [judge(target, made) for target in targets]
    worse = rows(samples_of({"reacting": life({20: 2_000.0}, set()), "foreseeing": reacting}, 1))
    assert Outcome.MET not in {judge(target, worse) for target in targets}


def test_what_did_not_happen_is_not_measured() -> None:
    """A calm machine and no hot spot must not pass for a success."""
    calm = rows(samples_of({"reacting": life({}, set()), "foreseeing": life({}, set())}, 1))
    targets = EXPERIMENTS["models/hotspots-live"].targets
    assert {Outcome.NOT_MEASURED} == {judge(target, calm) for target in targets}
