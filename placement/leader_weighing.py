"""Weighing: what a flow costs where it runs against what it would cost where ants found room (Ants 3.9).

A round whose end is open begins with an ant that asks for the present cost. What scouts found is compared with that,
and damping says whether a move is worth it. A flow that nobody could ask twice in a row counts as cut off: any other
place is better.
"""

import math
from dataclasses import dataclass

from placement.ants.measuring import Measured
from placement.leader_attempt import Attempt, Reason
from placement.leader_damping import Comparison, Damping
from placement.leader_params import LeaderParams
from placement.model import Flow

OPTIONAL = (Reason.WATCH, Reason.HOT, Reason.PROPOSE)
"""Reasons for which a flow that runs may as well stay where it is."""
COMPARED = (*OPTIONAL, Reason.USER)
"""Reasons for which the present cost is asked for."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a flow costs where it runs, and why it had better stay there; None if the move is worth it."""

    now_cost_ms: float
    now_own_ms: float
    objection: str | None


class Weighing:
    """Of one leader."""

    def __init__(self, params: LeaderParams) -> None:
        self.damping = Damping(params)
        self.measured: Measured | None = None
        """What the flow costs where it runs, once this round's ant is back."""
        self._unmeasured_rounds = 0
        """In a row."""

    @property
    def now_cost_ms(self) -> float:
        """Of this round; not a number while nobody knows."""
        return self.measured.cost_ms if self.measured is not None else math.nan

    @property
    def now_own_ms(self) -> float:
        """The flow's own part of that."""
        return self.measured.own_ms if self.measured is not None else math.nan

    def barred(self, reason: Reason, *, now_ms: float) -> tuple[tuple[str, int], ...]:
        """(site, tasks) where scouts must not look. A flow that may be cut off where it runs, or has lost a host, goes
        wherever it can."""
        damped = reason in OPTIONAL and self._unmeasured_rounds == 0
        return self.damping.cooling(now_ms=now_ms, dry_run=reason is Reason.PROPOSE) if damped else ()

    def awaits_measure(self, reason: Reason) -> bool:
        """Whether what was found is to be compared with what runs, and the ant that asks for that is still out.

        Where a flow begins and ends on one host, scouts are home before any ant that has to go elsewhere. It is waited
        for as long as for the scouts.
        """
        return reason in COMPARED and self.measured is None

    def can_compare(self, reason: Reason) -> bool:
        """Whether a flow may stay where it is: what a user wants placed is, if nobody knows what it costs now."""
        return reason in OPTIONAL or (reason is Reason.USER and self.measured is not None)

    def weigh(self, attempt: Attempt, moves: tuple[tuple[int, str], ...], *, flow: Flow, now_ms: float) -> Weighed:
        """Compare what was found with what runs. `moves`: (task, new site) of what would move.

        The flow's beta counts, though any better place will do where its bound is about to break or a user wants one.
        """
        now_cost_ms = self._present_cost_ms()
        cut_off = self.measured is None
        comparison = Comparison(now_cost_ms, attempt.cost_ms, moves, flow.weight, cut_off)
        factor = flow.beta if attempt.reason in (Reason.WATCH, Reason.PROPOSE) else 1.0
        objection = self.damping.objection(comparison, beta=factor, now_ms=now_ms)
        return Weighed(now_cost_ms, self.now_own_ms, objection)

    def _present_cost_ms(self) -> float:
        """What the flow costs where it runs; infinite once two measuring ants in a row have not come back."""
        self._unmeasured_rounds = 0 if self.measured is not None else self._unmeasured_rounds + 1
        return math.inf if self._unmeasured_rounds >= 2 else self.now_cost_ms
