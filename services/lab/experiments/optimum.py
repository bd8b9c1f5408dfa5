"""The optimum that latencies are held against, and what stands in for it where the search ends without a proof."""

from placement.strategies.protocol import Proposal
from services.lab.samples import Sample, Statistic

UNPROVEN = "optima that are not proven, their bound counts instead"


def least_ms(best: Proposal) -> float:
    """What no placement can be better than. Without a proof that is the bound: never in the ants' favour."""
    return best.cost_ms if best.proven else best.bound_ms


def unproven(best: Proposal, unit: str, *, seed: int, where: str = "") -> Sample:
    """One of the row that counts optima without a proof."""
    return Sample(f"{where}{UNPROVEN}", float(not best.proven), unit, None, Statistic.SUM, seed)
