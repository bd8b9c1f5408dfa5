"""Hot spots in the lab: how warnings are counted, what is replayed, and when loads are told."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from placement.hotspots import Foresight, Outlook
from placement.queueing import Stream
from placement.queueing.arrays import RHO, stream_sums, variances
from services.lab.experiments import hot_spot_worlds
from services.lab.experiments.experiment import Trial
from services.lab.experiments.hot_spot_queues import RealHosts, outlook_of
from services.lab.experiments.hot_spot_worlds import (
    BACKGROUND,
    LEARNING_S,
    MOST_LOAD,
    SECONDS,
    STEPS,
    Deadlines,
    live,
    placed,
    stage_of,
)
from services.lab.experiments.hot_spots import pause_sample, warning_samples
from services.lab.experiments.self_optimisation import faster
from services.lab.experiments.synergy_alleviation import updates
from services.lab.replay import replayed


def counted(broken: set[int], warned: set[int]) -> dict[str, tuple[float, float]]:
    """One flow, 60 seconds."""
    steps = np.repeat(np.arange(60), STEPS)
    told = (np.isin(steps, list(each))[:, None] for each in (warned, broken))
    samples = warning_samples("", *told, seed=1)
    return {sample.measure.removesuffix(", within 10 s"): (sample.value, sample.of) for sample in samples}


def test_a_warning_before_the_bound_breaks_is_right_and_leads() -> None:
    found = counted({30, 31, 32}, {26, 27, 28, 29, 30})
    assert ((1, 1), (1, 1)) == (found["recall"], found["precision"])
    assert 4 == found["lead time, median"][0]


def test_a_warning_that_comes_with_the_break_is_too_late_and_no_false_alarm() -> None:
    found = counted({30, 31}, {30, 31})
    assert ((0, 1), (0, 0)) == (found["recall"], found["precision"])


def test_the_rest_of_an_earlier_alarm_is_no_warning_of_the_next_break() -> None:
    """It was raised by a break that had begun; bursts in a row would else count as foreseen."""
    assert (0, 2) == counted({20, 21, 30, 31}, set(range(20, 24)))["recall"]


def test_a_warning_that_nothing_follows_is_false() -> None:
    assert (0, 1) == counted(set(), {20})["precision"]


def test_a_bound_is_broken_when_the_time_of_those_has_passed_who_took_too_long() -> None:
    """Who comes to a full queue is late from the start; that it is can be seen when its result should be there."""
    deadlines = Deadlines(np.array([500.0, 2_000.0]))
    took_ms = np.where(np.arange(60) < 20, 100.0, 900.0)
    broken = np.array([deadlines.step(np.full(2, each)) for each in took_ms])
    first = int(broken[:, 0].argmax())
    # Six of the ten steps of a second at 900 ms bring its mean above 500; the last of them ends at 2.6 s.
    assert 25 + 5 == first
    assert not broken[:, 1].any()


def test_no_task_comes_faster_than_an_ordinary_host_can_carry() -> None:
    """Wherever it ran its bound would break, and nothing could be learnt from that."""
    stage = stage_of(Trial(301), 8)
    capacity = float(np.median([host.capacity for host in stage.network.hosts]))
    loads = [
        max(
            sum(stream.rate_per_ms * stream.work for _, stream in flow.graph.streams(1 << task))
            for task in range(flow.graph.task_count)
        )
        for flow in stage.drawn
    ]
    most = (np.array(loads) * stage.rates.max(axis=1)).max()
    assert most == pytest.approx(MOST_LOAD * (1 - BACKGROUND) * capacity), "some are cut off there"


def test_minutes_are_stretched_and_seconds_are_not() -> None:
    """One step of a trace of minutes takes ten seconds, with a straight line to the next."""
    trace = np.arange(5_000.0) + 100
    length = LEARNING_S + SECONDS
    names = ("worldcup98", "azure conv, 1 s")
    stretched, plain = (replayed(name, trace, Random(1), seconds=length) for name in names)
    assert length == len(stretched) == len(plain)
    assert np.allclose(np.diff(stretched)[:9], np.diff(stretched)[0])
    assert 8 < np.diff(plain)[0] / plain[0] / (np.diff(stretched)[0] / stretched[0]) < 12


def test_the_lead_stands_beside_twice_the_pause_of_a_move() -> None:
    """A warning is worth something if there is time to move."""
    pause = pause_sample(seed=1)
    assert ("s", 0.16) == (pause.unit, pause.value)


def test_models_see_what_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live, models come seconds after what they are of: courses and backlogs are those of then."""
    monkeypatch.setattr(hot_spot_worlds, "SECONDS", 6)
    asked: list[np.ndarray] = []
    real: list[np.ndarray] = []

    def foresee(outlook: Outlook, courses: np.ndarray, horizons: np.ndarray) -> Foresight:
        asked.append(outlook.backlog_ms)
        return real_foresee(outlook, courses, horizons)

    def step(hosts: RealHosts, outlook: Outlook, factors: np.ndarray, *, lasts_ms: float) -> np.ndarray:
        waits = real_step(hosts, outlook, 20.0 * factors, lasts_ms=lasts_ms)
        real.append(hosts.left_ms.copy())
        return waits

    real_foresee, real_step = hot_spot_worlds.foresee, RealHosts.step
    monkeypatch.setattr(hot_spot_worlds, "foresee", foresee)
    monkeypatch.setattr(RealHosts, "step", step)
    at_once, late = (stage_of(Trial(1), 2, delay_s=delay_s) for delay_s in (0, 2))
    assert np.array_equal(at_once.courses[:-2], late.courses[2:])
    live(late, "never")
    by_second = real[STEPS - 1 :: STEPS]
    assert all(left.any() for left in by_second)
    assert [0.0, 0.0] == [float(left.sum()) for left in asked[:2]]
    assert np.array_equal(by_second[:-2], asked[2:])


def test_hosts_see_their_queues_fill_before_the_bound_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one second to the next twenty times as much comes: no model tells, the queue does."""
    monkeypatch.setattr(hot_spot_worlds, "SECONDS", 3)
    stage = stage_of(Trial(1), 2)
    burst = stage.rates.copy()
    burst[:, LEARNING_S + 1 :] = 20.0
    measured = stage.measured.copy()
    measured[(LEARNING_S + 1) * STEPS :] = 20.0
    seen = live(replace(stage, rates=burst, measured=measured), "never")
    near, broken = np.array(seen.near), np.array(seen.broken)
    assert not near[:STEPS].any()
    for flow in range(2):
        assert STEPS <= near[:, flow].argmax() < broken[:, flow].argmax()


def test_a_flow_takes_as_long_beside_waits_on_a_host_that_is_too_full() -> None:
    """Leaders believe rates at which a host may be too full: latency less wait was infinity less infinity, taken for 0.

    Such a flow seemed to keep its bound.
    """
    stage = stage_of(Trial(1), 2)
    body, flows = placed(stage)
    idle = np.zeros(len(stage.network.hosts))
    before = outlook_of(body, flows, stage.background, idle)
    stops = before.stops
    waits = np.array(body.truth.waits_ms)
    paid = np.bincount(stops.flow, stops.weight * waits[stops.host], len(flows))
    assert np.allclose([body.latency_ms(flow.name) for flow in flows] - paid, before.base_ms)
    body.change_flow(faster(flows[0], 1_000.0))
    assert np.isinf(body.latency_ms(flows[0].name))
    assert np.allclose(before.base_ms, outlook_of(body, flows, stage.background, idle).base_ms)


def test_the_alarm_is_told_how_arrivals_and_services_of_its_world_vary() -> None:
    """It was told other arrivals than come here: live hosts measure what they have."""
    stage = stage_of(Trial(1), 6)
    body, flows = placed(stage)
    outlook = outlook_of(body, flows, stage.background, np.zeros(len(stage.network.hosts)))
    hosts = RealHosts(stage.network, stage.background, seed=1)
    used = np.unique(outlook.stops.host).tolist()
    for host in used:
        here = np.flatnonzero(outlook.stops.host == host)
        told, even = told_variance(outlook, host), np.ones(len(flows))
        seconds = [hosts.arrivals(outlook, host, here, even, lasts_ms=1_000.0)[1].sum() for _ in range(1_000)]
        assert 0.8 < np.var(seconds) / 1_000.0 / told < 1.25


def told_variance(outlook: Outlook, host: int) -> float:
    """Of the work that comes in a ms, as the alarm reckons with it."""
    stops, sums = outlook.stops, outlook.background[:, host].copy()
    for stop in np.flatnonzero(stops.host == host).tolist():
        stream = Stream(stops.rate_per_ms[stop], stops.service_ms[stop], stops.cs2[stop], stops.ca2[stop], 0.0)
        sums += stream_sums(stream)
    return float(variances(sums[:, None], sums[RHO, None])[0])


def test_a_load_is_told_when_it_leaves_its_level_and_not_when_it_trembles_at_the_edge() -> None:
    """Synergy 3.4.3: levels overlap."""
    edge = np.array([0.49, 0.51, 0.49, 0.51])
    assert 1 == updates(edge, levels=3)
    assert 3 == updates(np.array([0.2, 0.7, 0.2]), levels=3)
