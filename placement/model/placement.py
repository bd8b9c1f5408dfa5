"""A placement: which host runs each task, and which tasks are served by an equal task of another flow.

Names, not indices: a placement outlives the network it was made for. It is sorted and hashable, so equal placements
are equal values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from placement.model.errors import require

TaskKey = tuple[str, str]
"""(flow name, task name)"""


@dataclass(frozen=True, slots=True, order=True)
class Tap:
    """`task` of `flow` is not run: its result is tapped from `to_task` of `to_flow`, wherever that runs (Ants 3.10)."""

    flow: str
    task: str
    to_flow: str
    to_task: str


@dataclass(frozen=True)
class Placement:
    """`spots` are (flow, task, host), sorted. Tapped tasks, and tasks that only feed tapped ones, have no spot."""

    spots: tuple[tuple[str, str, str], ...] = ()
    taps: tuple[Tap, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "spots", tuple(sorted(self.spots)))
        object.__setattr__(self, "taps", tuple(sorted(self.taps)))
        require(len(self.hosts) == len(self.spots), "a task is placed twice; give each (flow, task) one host")
        require(len(self.tapped) == len(self.taps), "a task is tapped twice; give each (flow, task) one tap")

    @classmethod
    def of(cls, hosts: Mapping[TaskKey, str], taps: Iterable[Tap] = ()) -> "Placement":
        return cls(tuple((flow, task, host) for (flow, task), host in hosts.items()), tuple(taps))

    @cached_property
    def hosts(self) -> dict[TaskKey, str]:
        """(flow, task) to host."""
        return {(flow, task): host for flow, task, host in self.spots}

    @cached_property
    def tapped(self) -> dict[TaskKey, Tap]:
        """(flow, task) to its tap."""
        return {(tap.flow, tap.task): tap for tap in self.taps}

    @cached_property
    def flows(self) -> tuple[str, ...]:
        """Names of the flows that have a task here, sorted."""
        return tuple(sorted({flow for flow, _, _ in self.spots} | {tap.flow for tap in self.taps}))

    def host_of(self, flow: str, task: str) -> str | None:
        return self.hosts.get((flow, task))

    def of_flow(self, flow: str) -> "Placement":
        """What concerns that flow alone."""
        return Placement(
            tuple(spot for spot in self.spots if spot[0] == flow), tuple(tap for tap in self.taps if tap.flow == flow)
        )

    def without_flow(self, flow: str) -> "Placement":
        return Placement(
            tuple(spot for spot in self.spots if spot[0] != flow), tuple(tap for tap in self.taps if tap.flow != flow)
        )

    def merged(self, other: "Placement") -> "Placement":
        """Both together; where both speak of a flow, the other replaces this."""
        kept = self
        for flow in other.flows:
            kept = kept.without_flow(flow)
        return Placement(kept.spots + other.spots, kept.taps + other.taps)

    def moved(self, flow: str, task: str, host: str) -> "Placement":
        """The same with that one task at that host."""
        return Placement.of({**self.hosts, (flow, task): host}, self.taps)
