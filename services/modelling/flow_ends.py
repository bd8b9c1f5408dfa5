"""Where records enter tasks: at operators that read what comes from outside, which others in a task do not."""

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
        return cls(np.array([part not in inner for part in parts], dtype=bool))
