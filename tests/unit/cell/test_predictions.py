"""What leaders tell of a flow's latency: the model's word, and what hosts measured where the flow runs."""

import math
from typing import Any

import pytest

from placement.leader_events import Proposed, Published, Stayed
from placement.model import Placement, Plan
from services.host.cell.predictions import ROW_SAMPLES_MAX
from services.registry.told_latency import ToldLatency, told_latency
from tests.unit.cell.ground import Ground, play, revision
from topics.flow.file import parse_graph
from topics.messages import Decision, Moments, OperatorMetrics, Sketch

(SEGMENT,) = [segment.id for segment in parse_graph(revision().text).segments]
BEGIN_S = 1_000
"""The ground's clock stands here."""
OWN_MS = 1.5


def row(second: int, latency_ms: float, host: str = "b", **more: Any) -> OperatorMetrics:
    names = {"host": host, "flow": "talk", "segment": SEGMENT, "operator": "large", "partition": 0, "second": second}
    counts = dict.fromkeys(("lag", "bytes_in", "bytes_out", "state_bytes", "late", "dropped", "dead_letters"), 0)
    moments = dict.fromkeys(("gaps_us", "batch", "service_us", "wait_us"), Moments(0, 0.0, 0.0))
    sketch = Sketch.of([latency_ms] * ROW_SAMPLES_MAX)
    values: dict[str, Any] = {**names, **counts, **moments, "arrivals": 5, "outputs": 5, "latency_ms": sketch, **more}
    return OperatorMetrics(**values)


def hear(ground: Ground, latency_ms: float, host: str = "b", *, begin_s: int = BEGIN_S + 20, seconds: int = 40) -> None:
    for second in range(begin_s, begin_s + seconds):
        ground.leaders.heard_row(row(second, latency_ms, host), second * 1e3)


async def led(ground: Ground) -> None:
    """A flow that runs on b, and of which the model has said so much."""
    ground.run("b", term=7)
    await ground.arrange()
    ground.leaders.decided(ground.body.leaders["talk"], Stayed("talk", 3.0, 3.0, "home", OWN_MS))


async def told(ground: Ground, decided: Any) -> ToldLatency:
    """What the next decision tells."""
    await ground.arrange()
    ground.published.clear()
    ground.leaders._chronicle.asked("talk", "r1")  # who is asked tells at once, and not only now and then
    ground.leaders.decided(ground.body.leaders["talk"], decided)
    await ground.arrange()
    (decision,) = [each for each in ground.published if isinstance(each, Decision)]
    latency = told_latency(decision)
    assert latency is not None
    return latency


def test_what_is_told_is_what_was_measured_and_the_way_to_the_sink() -> None:
    """Hosts measure up to the end of the last segment. The model's own word stands beside it."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0)
        now = await told(ground, Stayed("talk", 3.0, 3.0, "home", OWN_MS))
        assert OWN_MS + 2 * ground.delays.hop_ms == now.model_ms
        assert pytest.approx(60.0 + now.beyond_ms, rel=0.05) == now.latency_ms
        assert (30 * ROW_SAMPLES_MAX, 0.0) == (now.samples, now.spread_ms)

    play(story)


def test_a_flow_that_is_not_where_its_leader_put_it_teaches_nothing() -> None:
    """A person moved it: its latency there says nothing of the place that is predicted."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0, host="c")
        now = await told(ground, Stayed("talk", 3.0, 3.0, "home", OWN_MS))
        assert (now.model_ms, 0) == (now.latency_ms, now.samples)

    play(story)


def test_now_and_then_are_told_with_the_same_excess() -> None:
    """A new place as the model has it would look better than the old one as it was measured, wherever it is."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0)
        leader = ground.body.leaders["talk"]
        assert leader.plan is not None
        new = Placement.of({("talk", task.name): "c" for task in leader.flow.tasks})
        plan = Plan.between("talk", leader.epoch + 1, leader.plan.placement, new)
        now = await told(ground, Proposed(plan, 2.5, 1.0, 5.0, OWN_MS, None))
        (proposal,) = ground.proposals()
        assert proposal.now is not None
        assert proposal.then is not None
        assert proposal.now.latency_ms == pytest.approx(now.latency_ms)
        assert OWN_MS - 1.0 == pytest.approx(proposal.now.latency_ms - proposal.then.latency_ms)
        assert (5.0, 2.5) == (proposal.now.cost_ms, proposal.then.cost_ms), "what leaders compare has no excess"

    play(story)


def test_a_committed_plan_takes_the_excess_along() -> None:
    """Until something was measured there, it is the best guess; then what was measured there counts."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0)
        leader = ground.body.leaders["talk"]
        assert leader.plan is not None
        before = await told(ground, Stayed("talk", 3.0, 3.0, "home", OWN_MS))
        after = await told(ground, Published(leader.plan, 2.5, "a better place", own_ms=OWN_MS))
        assert (pytest.approx(before.latency_ms), 0) == (after.latency_ms, after.samples)
        hear(ground, 20.0, begin_s=BEGIN_S + 100)
        later = await told(ground, Stayed("talk", 3.0, 3.0, "home", OWN_MS))
        assert pytest.approx(20.0 + later.beyond_ms, rel=0.1) == later.latency_ms

    play(story)


def test_a_latency_that_nobody_knows_is_not_told() -> None:
    """A flow that could not be asked has no model's word to add to."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0)
        await ground.arrange()
        ground.leaders._chronicle.asked("talk", "r1")
        ground.leaders.decided(ground.body.leaders["talk"], Stayed("talk", 3.0, 3.0, "lost", math.nan))
        await ground.arrange()
        known, unknown = ground.told("kept")
        assert told_latency(known) is not None
        assert told_latency(unknown) is None

    play(story)


def test_hops_that_get_quicker_are_told_though_the_flow_is_the_same() -> None:
    """Brokers and hosts begin slowly; the guess of the first seconds must not stay."""

    async def story(ground: Ground) -> None:
        await led(ground)
        hear(ground, 60.0)
        for _ in range(2):  # the flow's rates have been measured by now, and stay
            ground.leaders._led["talk"].modelled_ms = -math.inf
            await ground.arrange()
        flow = ground.body.leaders["talk"].flow
        ground.delays.heard("a", "a", 1.0)
        ground.leaders._led["talk"].modelled_ms = -math.inf
        now = await told(ground, Stayed("talk", 3.0, 3.0, "home", OWN_MS))
        assert flow is ground.body.leaders["talk"].flow
        assert (0.5, OWN_MS + 2 * 0.5) == (ground.delays.hop_ms, now.model_ms)

    play(story)


def test_only_decisions_that_know_where_the_flow_runs_tell_its_latency() -> None:
    """A proposal's own figures are of another place, and older decisions know of no excess."""

    def decision(kind: str, **evidence: float) -> Decision:
        return Decision(decision="d", kind=kind, by="a", decided_ms=1, what="", why="", flow="f", evidence=evidence)

    assert ToldLatency(9.0, 9.0, 0.0, 0, 0.0) == told_latency(decision("kept", latency_ms=9.0))
    assert told_latency(decision("proposed", latency_ms=9.0)) is None
    assert told_latency(decision("placed", latency_ms=9.0)) is None
    now = {"now_latency_ms": 9.0, "now_model_ms": 6.0, "now_beyond_ms": 2.0, "now_excess_samples": 4.0}
    assert ToldLatency(9.0, 6.0, 2.0, 4, 1.0) == told_latency(decision("proposed", **now, now_excess_spread_ms=1.0))
