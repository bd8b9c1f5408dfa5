"""Vain tries: what plans of a flow wanted and did not get, from one leader to the next (decision 336).

A leader waits longer each time before it sends a task again to a host that it did not get to. It forgets that when it
dies; its plans carry it, and whoever leads next is told what it would have learnt itself, at the time when it was so.
"""

from collections.abc import Mapping

from placement.leader import Leader
from placement.leader_events import NotCarriedOut
from placement.leader_params import LIVE_LEADER
from topics.messages import VainTry
from topics.messages.plans import IN_VAIN_MAX, TRIES_MAX

REMEMBERED_MS = 2 * LIVE_LEADER.retry_move_at_most_ms
"""No leader remembers a vain try for longer: for the longest wait, and as long again."""


def one_more(
    before: tuple[VainTry, ...], wanted: Mapping[str, str], news: NotCarriedOut, *, now_ms: int
) -> tuple[VainTry, ...]:
    """What is known after a plan was not carried out. `wanted`: its hosts. The oldest go if it gets too much."""
    known = {(each.segment, each.host): each for each in before if now_ms - each.at_ms < REMEMBERED_MS}
    for segment, _ in news.where:
        last = known.pop((segment, wanted[segment]), None)
        tries = min(last.tries + 1, TRIES_MAX) if last is not None else 1
        by_person = news.by_person or (last is not None and last.by_person)
        known[segment, wanted[segment]] = VainTry(segment, wanted[segment], tries, now_ms, by_person)
    return tuple(known.values())[-IN_VAIN_MAX:]


def recall(tries: tuple[VainTry, ...], leader: Leader, *, now_ms: float, broker_ms: float) -> None:
    """Teach a new leader what those before it have learnt. `now_ms` by its own clock, `broker_ms` by that of plans."""
    task_of, damping = leader.flow.graph.task_index, leader.course.weighing.damping
    for each in tries:
        task = task_of.get(each.segment)
        if task is None or leader.running.get(task) == each.host:
            continue  # the flow has no such segment any more, or it has got there since
        at_ms = now_ms - max(0.0, broker_ms - each.at_ms)
        for _ in range(each.tries):
            damping.stayed(leader.running, {task: each.host}, now_ms=at_ms, longest=each.by_person)
