"""Order: what a leader tells its scouts to place, and what they bring back."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from placement.ants.host_view import HostView
from placement.model import Flow


@dataclass(frozen=True, slots=True)
class Anchor:
    """A host that a task should be near: `share` of the flow's paths run between them."""

    host: str
    share: float
    exact: bool
    upstream: bool = False
    """Messages come from there; else they go there. Delays may differ."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A task of another flow, running at a host, that gives the same result as one that a scout has to place."""

    flow: str
    task: str
    host: str
    home: str
    """Where the leader of that flow lives: it has to agree."""
    age_ms: float
    """How old messages are, on average, when they leave that task; infinite if it runs there no more."""

    @property
    def place(self) -> tuple[str, str, str]:
        """What is offered where."""
        return self.flow, self.task, self.host


@dataclass(frozen=True, slots=True)
class Serving:
    """A task that runs somewhere for some flow, as others may find it."""

    identity: str
    seniority: int
    offer: Offer


@dataclass(frozen=True)
class Order:
    """One subquery to place from `start` to `end`, for one round of scouts."""

    flow: Flow
    round: int
    chain: int
    """Which of the flow's subqueries this is."""
    tasks: tuple[int, ...]
    start: str
    end: str
    shares: tuple[float, ...]
    anchors: tuple[tuple[Anchor, ...], ...]
    settled: tuple[tuple[str, int], ...] = ()
    """(host, tasks) where earlier chains of this flow were hypothetically placed in this attempt."""
    running: tuple[tuple[str, int], ...] = ()
    """(host, tasks) where the flow runs now: its own load there is not a stranger's."""
    tapped: tuple[int, ...] = ()
    """Tasks that earlier chains of this attempt would tap."""
    kept: tuple[int, ...] = ()
    """Tasks that other flows tap: these must run."""
    avoided: tuple[str, ...] = ()
    """Flows that would not serve, or will not for long."""
    seniority: int = 0
    """Place of this flow in the order of submission; only older flows are tapped."""
    barred: tuple[tuple[str, int], ...] = ()
    """(host, tasks) that left it so recently that they must not return yet."""
    corrections: tuple[HostView, ...] = ()
    """Hosts that turned an enforcement ant of this search back, as it saw them: digests elsewhere may be older."""
    stale: tuple[Offer, ...] = ()
    """Offers that an enforcement ant of this search found gone or grown old, as they are."""

    def asks_the_same(self, other: "Order") -> bool:
        """Whether scouts with the other order look for the same, in another round or in this one."""
        return self is other or self == (other if self.round == other.round else replace(other, round=self.round))

    @cached_property
    def tappable(self) -> tuple[tuple[int, str], ...]:
        """(position, identity) of the chain's tasks that may be tapped, with all before them in the chain.

        Not where a task before it would still be needed elsewhere, or is placed already, or is tapped by others.
        """
        graph, tapped, kept = self.flow.graph, frozenset(self.tapped), frozenset(self.kept)
        settled = {task for _, mask in self.settled for task in graph.tasks_in(mask)}
        found = []
        for position, task in enumerate(self.tasks):
            identity = self.flow.tasks[task].identity
            if not identity:
                continue
            idle = frozenset(range(graph.task_count)) - graph.needed(tapped | {task}) - tapped
            if idle.issuperset(self.tasks[:position]) and not idle & kept and not idle & settled:
                found.append((position, identity))
        return tuple(found)

    @cached_property
    def pulling(self) -> tuple[str, ...]:
        """The ends beside the chain that pull at its tasks."""
        return tuple(sorted({anchor.host for anchors in self.anchors for anchor in anchors}))

    @cached_property
    def through(self) -> tuple[float, ...]:
        """The share of the flow's paths that run through each task of the chain."""
        graph = self.flow.graph
        return tuple(sum(edge.path_share for edge in graph.into[task]) for task in self.tasks)

    @cached_property
    def corrected(self) -> dict[str, HostView]:
        """Host to what is known better."""
        return {view.host: view for view in self.corrections}

    @cached_property
    def corrected_offers(self) -> dict[tuple[str, str, str], Offer]:
        """Place of an offer to what is known better."""
        return {offer.place: offer for offer in self.stale}

    @cached_property
    def settled_masks(self) -> dict[str, int]:
        """Host to tasks of earlier chains."""
        return dict(self.settled)

    @cached_property
    def running_masks(self) -> dict[str, int]:
        """Host to tasks that run there now."""
        return dict(self.running)

    @cached_property
    def barred_masks(self) -> dict[str, int]:
        """Host to tasks that must not go there."""
        return dict(self.barred)

    @cached_property
    def pricers(self) -> dict[str, Any]:
        """Host to the last pricer for it: what the scouts that carry this order have found out, shared where they share
        the order itself."""
        return {}

    @cached_property
    def masks(self) -> tuple[tuple[int, ...], ...]:
        """[first][last]: the set of tasks from position first up to and with last; 0 where last < first."""
        rows = []
        for first in range(len(self.tasks)):
            mask, row = 0, []
            for last, task in enumerate(self.tasks):
                mask |= 1 << task if last >= first else 0
                row.append(mask)
            rows.append(tuple(row))
        return tuple(rows)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one task would go. The host lies `offset_ms` beside the point `position_ms` along the scout's trail."""

    host: str
    position_ms: float
    offset_ms: float


@dataclass(frozen=True, slots=True)
class ScoutReport:
    """A complete hypothetical placement of one subquery, priced."""

    flow: str
    round: int
    chain: int
    hosts: tuple[str, ...]
    """One for each task of the subquery."""
    cost_ms: float
    """Weighted latency of the subquery plus its impact on others: what a leader adds up and compares."""
    score_ms: float
    """The cost, plus the pull of branches that are not placed yet: what reports of one round are ranked by."""
    own_ms: float
    prices: tuple[tuple[str, float], ...]
    """(host, what these tasks add to its price): what the enforcement ant holds the host to."""
    hops: int = 0
    """Links that data would pass: those of the scout's trail, or one for each edge where all hosts reach each other."""
    byte_hops: float = 0.0
    """What this scout cost the network."""
    tap: Offer | None = None
    """Where the chain's first tasks are served from, if they are."""
    covered: int = 0
    """How many of the chain's first tasks need not run: the last of them is tapped, the others only feed it."""
