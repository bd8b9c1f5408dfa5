"""Strategies beside the ants, behind one protocol: `strategy.place(problem, rng=rng) -> Proposal`.

random        each task on a host drawn at random                    RandomHosts
producer      all at the producer                                    Producer
consumer      all at the consumer                                    Consumer
centralised   steepest descent over all flows (the paper's [16])     Centralised(start=...)
sequential    flow by flow, each exactly                             SequentialOptimum
exact         the proven optimum over all flows together             Exact
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from placement.strategies.centralised import Centralised
from placement.strategies.chance import RandomHosts
from placement.strategies.ends import Consumer, Producer
from placement.strategies.exact import Exact
from placement.strategies.protocol import BoundTooTight, Chance, NoFeasibleHost, Proposal, StoppedWithoutProof, Strategy
from placement.strategies.sequential import SequentialOptimum

STRATEGIES: Mapping[str, Callable[[], Strategy]] = MappingProxyType(
    {
        "random": RandomHosts,
        "producer": Producer,
        "consumer": Consumer,
        "centralised": Centralised,
        "sequential": SequentialOptimum,
        "exact": Exact,
    }
)
"""Name to strategy with its default parameters."""

__all__ = [
    "STRATEGIES",
    "BoundTooTight",
    "Centralised",
    "Chance",
    "Consumer",
    "Exact",
    "NoFeasibleHost",
    "Producer",
    "Proposal",
    "RandomHosts",
    "SequentialOptimum",
    "StoppedWithoutProof",
    "Strategy",
]
