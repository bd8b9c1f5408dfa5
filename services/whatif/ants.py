"""Ants answer: the brain that runs live, in the simulator, begun where the flows run. Same seed, same answer. Pure.

Flows whose hosts are all there begin where they are, the others without a place. Leaders then look around as they do
live, and move what is worth it by the same factor; only the budget for ants is lifted, because nobody waits for a
quiet minute here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from placement.leader_events import GaveUp
from placement.leader_params import LIVE_LEADER
from placement.model import Flow
from placement.simulator.body import Body
from services.whatif.world import World

SETTLING_MS = 60_000.0
"""Virtual time for a dozen rounds of ants."""
PARAMS = replace(LIVE_LEADER, budget_share=None)


@dataclass(frozen=True, slots=True)
class Found:
    """One flow: where its tasks are in the end and what its latency is; or why it has no place."""

    hosts: Mapping[str, str]
    latency_ms: float | None
    refused: str | None = None


def let_ants_answer(then: World, *, seed: int) -> dict[str, Found]:
    """What ants would do with the flows of this world."""
    body = Body(then.problem().network, chance=lambda user: Random(f"{seed}/{user}"), leaders=PARAMS)
    body.acquaint()
    for name, flow in sorted(then.flows.items()):
        here = {task.name: then.running.get((name, task.name)) for task in flow.tasks}
        hosts = {task: host for task, host in here.items() if host in body.cells}
        # What flows share stays as it is while they run (decision 0123): each is played with what it runs itself.
        alone = replace(flow, tasks=tuple(replace(task, identity="") for task in flow.tasks))
        if len(hosts) == len(flow.tasks):
            body.take_over(alone, {task: str(host) for task, host in hosts.items()})
        else:
            body.submit(alone)
    body.run_for(SETTLING_MS)
    return {name: _found(body, flow, then.hops_ms[name]) for name, flow in sorted(then.flows.items())}


def _found(body: Body, flow: Flow, hops_ms: float) -> Found:
    running = body.leaders[flow.name].running
    hosts = {flow.tasks[task].name: host for task, host in sorted(running.items())}
    latency_ms = body.latency_ms(flow.name)
    if math.isfinite(latency_ms):
        return Found(hosts, latency_ms + hops_ms)
    told = [each.why for _, each in body.decisions if isinstance(each, GaveUp) and each.flow == flow.name]
    why = told[-1] if told else "it is overloaded where it runs, and ants found no other place"
    return Found(hosts, None, why)
