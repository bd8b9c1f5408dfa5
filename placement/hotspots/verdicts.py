"""How warnings come out: the one rule by which they are counted, live and in the lab.

A warning holds for some seconds. A bound that breaks within them makes it right, and it led by the time between; if
none does it was false, and if it still stands then, it is a new one. A break that no warning came before was missed.
So an alarm that never ends is right only as often as bounds break. Breaks close to one another are one, and what is
said between them is no forecast.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Flags
from placement.model.errors import require

_LONG_AGO = -(10**9)


@dataclass(frozen=True, slots=True)
class VerdictParams:
    """All in seconds, of one step each."""

    holds_s: int = 10
    """How long a warning holds."""
    gap_s: int = 3
    """Broken seconds not further apart than this are one break."""
    kept: int = 1_000
    """Leads that are kept."""

    def __post_init__(self) -> None:
        require(self.holds_s >= 1, f"holds_s is {self.holds_s}; give 1 or more")
        require(self.gap_s >= 0, f"gap_s is {self.gap_s}; give 0 or more")
        require(self.kept >= 1, f"kept is {self.kept}; give 1 or more")


class Verdicts:
    """`step` once a second. Judges several rules of warning side by side: one row each, one column a flow."""

    def __init__(self, rules: int, flows: int, params: VerdictParams) -> None:
        self.params = params
        self.hits = np.zeros(rules)
        self.misses = np.zeros(rules)
        self.false = np.zeros(rules)
        self.leads_s: list[list[int]] = [[] for _ in range(rules)]
        self._since = np.full((rules, flows), -1)
        """When the warning that stands was given; -1: none does."""
        self._broke = np.full(flows, _LONG_AGO)
        """When a bound was broken last."""
        self._is_new = np.ones(flows, dtype=bool)

    @property
    def count(self) -> int:
        """Flows that there is room for."""
        return len(self._broke)

    def step(self, now: int, warned: Flags, broken: Flags, *, left: Flags | None = None) -> None:
        """`warned` [rule, flow]; `broken` [flow]. `left`: flows whose hosts have changed: nobody can judge those."""
        params = self.params
        stands = self._since >= 0
        if left is not None:
            stands &= ~left
        # Nothing could have been foreseen of what is so in the first second.
        breaks = broken & (now - self._broke > params.gap_s) & ~self._is_new
        self._is_new[:] = False
        hit = stands & breaks
        over = stands & ~breaks & (now - self._since >= params.holds_s)
        self.hits += hit.sum(axis=1)
        self.misses += (~stands & breaks).sum(axis=1)
        self.false += over.sum(axis=1)
        for rule, flow in np.argwhere(hit).tolist():
            self.leads_s[rule].append(now - int(self._since[rule, flow]))
            del self.leads_s[rule][: -params.kept]
        self._broke[broken] = now
        stands &= ~(hit | over)
        begins = warned & ~stands & (now - self._broke > params.gap_s)
        self._since = np.where(begins, now, np.where(stands, self._since, -1))

    def grow(self, flows: int) -> None:
        """Room for more flows."""
        more = flows - self.count
        self._since = np.pad(self._since, ((0, 0), (0, more)), constant_values=-1)
        self._broke = np.pad(self._broke, (0, more), constant_values=_LONG_AGO)
        self._is_new = np.pad(self._is_new, (0, more), constant_values=True)

    def forget(self, flows: Sequence[int]) -> None:
        """These end; others may take their places."""
        self._since[:, flows] = -1
        self._broke[flows] = _LONG_AGO
        self._is_new[flows] = True
