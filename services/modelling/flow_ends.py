"""Where records enter tasks, and where results leave flows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Flags
from services.modelling.flow_facts import FlowFacts


@dataclass(frozen=True, slots=True)
class FlowEnds:
    """Of each seat."""

    is_first: Flags
    """Nothing that runs in the same task is upstream of it. Of a flow that nobody knows any operator may be."""
    at_sinks: Flags
    """Its segment writes to a sink: what is timed there is what the flow takes."""

    @classmethod
    def of(cls, parts: Sequence[tuple[str, ...]], flows: Mapping[str, FlowFacts]) -> "FlowEnds":
        """`parts`: (host, flow, segment, operator) of each seat."""
        there = {part[:3]: set[str]() for part in parts}
        for *task, operator in parts:
            there[tuple(task)].add(operator)
        below = {flow: facts.upstream for flow, facts in flows.items()}
        inner = {
            (*task, operator)
            for task, names in there.items()
            for operator, above in below.get(task[1], ())
            if above in names
        }
        last = {(flow, operator) for flow, facts in flows.items() for operator in facts.last}
        ending = {(flow, segment) for _, flow, segment, operator in parts if (flow, operator) in last}
        return cls(
            np.array([part not in inner for part in parts], dtype=bool),
            np.array([part[1:3] in ending for part in parts], dtype=bool),
        )
