"""What the conductor sees at one look: the registry, which hosts live, and the flows that run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.registry.view import RegistryView, Slot
from topics.flow.graph import FlowGraph
from topics.messages import CommittedPlan, FlowRevision, Placement


@dataclass(frozen=True, slots=True)
class KnownFlow:
    """A flow of the registry, compiled, with how many partitions each of its segments has on this cluster.

    `topics`: how many its source topics have, from which that follows.
    """

    revision: FlowRevision
    graph: FlowGraph
    partitions: Mapping[str, int]
    topics: Mapping[str, int] = field(default_factory=dict)

    def slots(self) -> list[Slot]:
        """All of them, in order."""
        return [
            (segment.id, number) for segment in self.graph.segments for number in range(self.partitions[segment.id])
        ]

    def operators(self, segment_id: str) -> tuple[str, ...]:
        return next(segment.operators for segment in self.graph.segments if segment.id == segment_id)


@dataclass(frozen=True, slots=True)
class Situation:
    """`lost`: hosts that are registered or own something and have been silent for too long, and since when.

    `leader_terms`: flow -> the term of its present or last leader, where the log of leases still tells.
    """

    view: RegistryView
    now_ms: int
    live: frozenset[str]
    lost_since_ms: Mapping[str, int]
    flows: Mapping[str, KnownFlow] = field(default_factory=dict)
    leader_terms: Mapping[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> frozenset[str]:
        return frozenset(self.lost_since_ms)

    def is_open(self, host: str) -> bool:
        """Whether new work may go there."""
        return host in self.live and not self.is_drained(host)

    def is_drained(self, host: str) -> bool:
        """Whether everything is to leave it."""
        policy = self.view.policies.get(("host", host))
        return policy is not None and policy.policy == "drained"

    def drained(self) -> list[str]:
        """The hosts that everything is to leave."""
        return sorted(name for subject, name in self.view.policies if subject == "host" and self.is_drained(name))

    def flow_policy(self, flow: str) -> str:
        """What a person laid down, else what the flow's file says."""
        known = self.flows.get(flow)
        return self.view.flow_policy(flow, otherwise=known.graph.spec.moves if known is not None else "auto")

    def is_overruled(self, plan: CommittedPlan) -> bool:
        """Whether the flow has a later leader than the plan: until that one says what counts, nothing of it is done."""
        return plan.term < self.leader_terms.get(plan.flow, 0)

    def placed(self, flow: str) -> dict[Slot, Placement]:
        """The flow's partitions that somebody owns."""
        return {slot: each for slot, each in sorted(self.view.placements.of(flow).items()) if each.host is not None}

    def says(self, slot: Slot, state: str) -> bool:
        """Whether its present owner has said that it is in this state."""
        placement, status = self.view.placements.get(slot), self.view.statuses.get(slot)
        return (
            placement is not None
            and status is not None
            and (status.host, status.epoch, status.state) == (placement.host, placement.epoch, state)
        )

    def best_host(
        self,
        *,
        apart_from: frozenset[str] = frozenset(),
        prefer: tuple[str, ...] = (),
        near: str | None = None,
        coming: Mapping[str, int] | None = None,
    ) -> str | None:
        """The first open host of `prefer`, else the open host with the fewest partitions for its capacity.

        `near`: of those in this host's region, if there are any. `coming`: partitions that are on their way to a host
        and count as its own.
        """
        candidates = [host for host in sorted(self.live) if self.is_open(host) and host not in apart_from]
        for host in prefer:
            if host in candidates:
                return host
        if near is not None:
            candidates = [host for host in candidates if self._region(host) == self._region(near)] or candidates
        owned = {host: (coming or {}).get(host, 0) for host in candidates}
        for placement in self.view.placements.values():
            if placement.host in owned:
                owned[placement.host] += 1
        return min(candidates, key=lambda host: (owned[host] + 1) / self._capacity(host), default=None)

    def _region(self, host: str) -> str | None:
        registered = self.view.hosts.get(host)
        return registered.region if registered is not None else None

    def _capacity(self, host: str) -> float:
        registered = self.view.hosts.get(host)
        return registered.capacity if registered is not None else 1.0
