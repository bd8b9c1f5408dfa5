"""Whatever became of a plan's moves: one correction, and then leader and registry agree and nothing moves."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from services.host.cell.carried_out import UNAPPROVED_MS, compared, placed_anew
from services.placement.conductor import Conductor
from services.placement.params import PlacementParams
from services.placement.situation import KnownFlow, Situation
from services.registry.view import RegistryView
from tests.unit.registry_messages import committed_plan, move_record, registration
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan, FlowRevision, MoveRecord, Placement, Policy

TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
  counts: {op: aggregate, input: large, by: [shop], window: {size: 10s}, emit: {n: count()}}
sinks:
  out: {input: counts, topic: results}
"""
GRAPH = parse_graph(TEXT)
SEGMENTS = [segment.id for segment in GRAPH.segments]
SLOTS = [(segment, partition) for segment in SEGMENTS for partition in range(2)]
HOSTS = ("a", "b", "c")
NOW_MS = 10_000_000
FLOW = FlowRevision(flow="shop", revision=1, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=0)

hosts = st.sampled_from(HOSTS)
outcomes = st.sampled_from(["done", "abandoned", "rolled_back", None])
"""How the newest move of a partition under the plan ended; None: there was none."""


def placed(slot: tuple[str, int], host: str, plan: str) -> Placement:
    return Placement(
        segment=slot[0],
        partition=slot[1],
        epoch=3,
        host=host,
        flow="shop",
        revision=1,
        operators=next(segment.operators for segment in GRAPH.segments if segment.id == slot[0]),
        placed_ms=0,
        plan=plan,
    )


@given(
    wanted=st.tuples(*(hosts for _ in SEGMENTS)),
    runs=st.tuples(*(hosts for _ in SLOTS)),
    under=st.tuples(*(st.sampled_from(["old", "new"]) for _ in SLOTS)),
    ended=st.tuples(*(outcomes for _ in SLOTS)),
    asked=st.booleans(),
    policy=st.sampled_from(["auto", "approve", "freeze"]),
    age_ms=st.sampled_from([0, UNAPPROVED_MS]),
)
def test_a_correction_moves_nothing_and_needs_no_other(
    *,
    wanted: tuple[str, ...],
    runs: tuple[str, ...],
    under: tuple[str, ...],
    ended: tuple[str | None, ...],
    asked: bool,
    policy: Any,
    age_ms: int,
) -> None:
    """Else leader and placement service would go on correcting each other for ever."""
    plan = committed_plan(
        "shop", dict(zip(SEGMENTS, wanted, strict=True)), epoch=5, hash="new", decided_ms=NOW_MS - age_ms
    )
    view = registry(plan, policy)
    for slot, host, hash_, phase in zip(SLOTS, runs, under, ended, strict=True):
        view.take(placed(slot, host, hash_))
        if phase is not None:
            about = {"move": f"{slot}", "partition": slot[1], "origin": "a", "target": "b", "plan": "new"}
            record = move_record("shop", slot[0], phase=phase, since_ms=NOW_MS - 1, **about)
            view.take(msgspec.structs.replace(record, request="r" if asked else None))
    news = compared(view, plan, policy, live=HOSTS, now_ms=NOW_MS)
    if news is None:
        return
    assert all(host != plan.hosts[segment] for segment, host in news.where)
    assert_nothing_follows(view, plan, dict(news.where), policy, live=HOSTS)


@given(
    wanted=st.tuples(*(hosts for _ in SEGMENTS)),
    heirs=st.tuples(*(st.sampled_from(["b", "c"]) for _ in SLOTS)),
    policy=st.sampled_from(["auto", "approve", "freeze"]),
)
def test_what_was_placed_anew_after_a_loss_stays_there_when_its_leader_says_so(
    *, wanted: tuple[str, ...], heirs: tuple[str, ...], policy: Any
) -> None:
    """Wherever failover has put the partitions: a leader that leads on from there would else be corrected."""
    plan = committed_plan("shop", dict(zip(SEGMENTS, wanted, strict=True)), epoch=5, hash="new", decided_ms=0)
    view = registry(plan, policy)
    for slot, host in zip(SLOTS, heirs, strict=True):
        view.take(placed(slot, host, "new"))
    news = placed_anew(view, plan, live={"b", "c"})
    assert news is not None
    assert set(news.hosts.values()) <= {"b", "c"}
    assert_nothing_follows(view, plan, news.hosts, policy, live=("b", "c"))


def registry(plan: CommittedPlan, policy: Any) -> RegistryView:
    """The flow, its plan and policy, and hosts; nothing is placed yet."""
    view = RegistryView()
    for host in HOSTS:
        view.take(registration(host))
    for message in (FLOW, Policy(subject="flow", name="shop", policy=policy, changed_ms=0), plan):
        view.take(message)
    return view


def assert_nothing_follows(
    view: RegistryView, plan: CommittedPlan, where: dict[str, str], policy: Any, *, live: Sequence[str]
) -> None:
    """Once what runs is a plan, nobody moves anything for it, and it is not corrected."""
    about: dict[str, Any] = {"epoch": plan.epoch + 1, "hash": "corrected", "corrects": plan.hash}
    correction = msgspec.structs.replace(plan, hosts=plan.hosts | where, decided_ms=NOW_MS, **about)
    view.take(correction)
    before = {slot: (each.host, each.epoch) for slot, each in view.placements.items()}
    known = KnownFlow(FLOW, GRAPH, dict.fromkeys(SEGMENTS, 2), {"orders": 2})
    conductor = Conductor(PlacementParams("p", "nowhere:1"), view)
    lost_ms = dict.fromkeys(set(HOSTS) - set(live), 0)
    for later_ms in (0, 100, 7_200_000):
        situation = Situation(view, NOW_MS + later_ms, frozenset(live), lost_ms, {"shop": known}, {"shop": 1})
        entries = conductor.look(situation)
        assert [] == [message for _, message in entries if isinstance(message, MoveRecord)]
        assert before == {slot: (each.host, each.epoch) for slot, each in view.placements.items()}
        assert compared(view, correction, policy, live=live, now_ms=NOW_MS + later_ms) is None
