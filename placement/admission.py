"""Admission: why a flow can't be placed, in terms that its user can act on.

Ants find places; when they have found none for long enough, their leader asks here what stands in the way: no room for
a task, or a latency bound that no placement keeps. The answer is reckoned with everything that the leader's cell knows
of the hosts, as if the flow had no bound: what it would then take is the nearest bound that would do.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from placement.ants.host_view import HostView
from placement.chance import Chance
from placement.evaluator import evaluate
from placement.model import Flow, Host, ModelError, OverlayNetwork, Problem
from placement.strategies.centralised import Centralised
from placement.strategies.protocol import NoFeasibleHost

MARGIN = 1.05
"""A bound that only just holds would be broken by the next breath of load."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """`binding`: what stands in the way; `unknown` hosts of the flow's ends; `none` if the model sees no obstacle."""

    binding: Literal["capacity", "latency", "unknown", "none"]
    why: str
    nearest_bound_ms: float | None = None
    """The smallest latency bound, in whole milliseconds, that could be kept; None without room, or without need."""


def why_refused(
    flow: Flow, views: Sequence[HostView], delay_ms: Callable[[str, str], float], *, rng: Chance, fixed_ms: float = 0.0
) -> Refusal:
    """What keeps a flow from being placed on these hosts, whose loads do not count the flow itself.

    A bound is about the longest path (decision 271). The placement is the best by its mean, as ants choose; another may
    have a shorter longest path.
    `fixed_ms`: what it takes wherever it runs; the flow's own bound is what was left beside that.
    """
    ordered = sorted(views, key=lambda view: view.host)
    names = [view.host for view in ordered]
    hosts = tuple(Host(view.host, view.capacity) for view in ordered)
    network = OverlayNetwork.sparse(hosts, [[delay_ms(a, b) for b in names] for a in names])
    unbound = replace(flow, latency_bound_ms=math.inf)
    try:
        problem = Problem(network, (unbound,), background=tuple(view.load for view in ordered))
        proposal = Centralised().place(problem, rng=rng)
    except ModelError as fault:
        return Refusal("unknown", str(fault))
    except NoFeasibleHost as fault:
        return Refusal("capacity", str(fault))
    best_ms = fixed_ms + evaluate(problem, proposal.placement).of(flow.name).latency.longest_ms
    bound_ms = fixed_ms + flow.latency_bound_ms
    nearest_ms = float(math.ceil(best_ms * MARGIN))
    if best_ms < bound_ms:
        return Refusal("none", f"a placement of {best_ms:.1f} ms seems possible", nearest_ms)
    return Refusal(
        "latency",
        f"the best placement takes {best_ms:.1f} ms, the bound is {bound_ms:g} ms; "
        f"relax qos.latency_ms to {nearest_ms:g}, or add a faster host near the flow",
        nearest_ms,
    )
