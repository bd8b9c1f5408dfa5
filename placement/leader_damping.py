"""Damping: why a leader does not move a flow although a report looks better (DESIGN section 5, after placement).

Hysteresis: the new cost times beta must still be below the present one. Cool-down: no task goes back to a host it has
just left, not even from an overloaded one; scouts look for a third. Nor to one that it was sent to in vain, for a time
that doubles. Worth: what the moved tasks' pause costs must be less than what the move gains while it is likely to last.
Frozen: a person wants the flow to stay where it runs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from placement.leader_params import LeaderParams

AT_HOME = "it is where the flow already runs"
"""Why a flow does not move if the best place that ants found is its own."""
UNASKED = "nobody could tell what it costs where it runs; it is asked again"
"""Why a flow does not move while the ant that asks for its present cost is not back."""
FROZEN = "its moves are frozen; else it would go where ants found a better place"
"""Why a flow does not move whose plans nobody carries out."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A flow's present cost and that of a placement it might move to."""

    now_ms_cost: float
    new_ms_cost: float
    moves: tuple[tuple[int, str], ...]
    """(task, target host) of every task that would move."""
    weight: float = 1.0
    """Of the flow: it is in both costs."""
    cut_off: bool = False
    """Nobody could ask for the present cost: the flow can't be reached where it runs."""


class Damping:
    """What one leader remembers of its moves."""

    def __init__(self, params: LeaderParams) -> None:
        self._params = params
        self.pause_ms = params.pause_ms
        """Of a moved task: assumed, until somebody has measured it."""
        self.is_frozen = False
        """Nobody would carry a move out (decision 359)."""
        self._cool_ms = params.cool_down_rounds * params.watch_every_ms
        self._left_ms: dict[tuple[int, str], float] = {}
        self._in_vain: dict[tuple[int, str], tuple[float, float]] = {}
        """(task, host) that a plan had wanted, and that was not carried out: until when it is not tried again, and how
        long that was. It is remembered for longer: a move may take minutes until it is given up."""

    def left(self, moves: Mapping[int, str], *, now_ms: float) -> None:
        """Tasks left these hosts."""
        self._left_ms |= dict.fromkeys(moves.items(), now_ms)

    def stayed(self, running: Mapping[int, str], missed: Mapping[int, str], *, now_ms: float, longest: bool) -> None:
        """A plan was not carried out: tasks run there, and did not get to the hosts that they `missed`."""
        self._left_ms = {move: at_ms for move, at_ms in self._left_ms.items() if running.get(move[0]) != move[1]}
        first_ms, most_ms = self._params.retry_move_ms, self._params.retry_move_at_most_ms
        self._forget(now_ms)
        for move in missed.items():
            _, before_ms = self._in_vain.get(move, (now_ms, first_ms / 2))
            wait_ms = most_ms if longest else min(2 * before_ms, most_ms)
            self._in_vain[move] = now_ms + wait_ms, wait_ms

    def cooling(self, *, now_ms: float, dry_run: bool = False) -> tuple[tuple[str, int], ...]:
        """(site, tasks) that left it so recently that they must not return yet, or were sent there in vain: scouts look
        elsewhere. A person who asks may say yes to what was in vain, and is then not held to the pause budget."""
        self._forget(now_ms)
        in_vain = [] if dry_run else [move for move, (until_ms, _) in self._in_vain.items() if now_ms < until_ms]
        masks: dict[str, int] = {}
        for task, site in (*self._left_ms, *in_vain):
            masks[site] = masks.get(site, 0) | 1 << task
        return tuple(sorted(masks.items()))

    def _forget(self, now_ms: float) -> None:
        most_ms = self._params.retry_move_at_most_ms
        self._left_ms = {move: at_ms for move, at_ms in self._left_ms.items() if now_ms - at_ms < self._cool_ms}
        self._in_vain = {move: span for move, span in self._in_vain.items() if now_ms < span[0] + most_ms}

    def objection(self, comparison: Comparison, *, beta: float, now_ms: float) -> str | None:
        """Why not to move; None if the move is worth it, and may be."""
        found = self._not_worth_it(comparison, beta=beta, now_ms=now_ms)
        return FROZEN if found is None and self.is_frozen else found

    def _not_worth_it(self, comparison: Comparison, *, beta: float, now_ms: float) -> str | None:
        now_cost, new_cost = comparison.now_ms_cost, comparison.new_ms_cost
        if not comparison.moves or math.isnan(now_cost):
            return UNASKED if comparison.moves else AT_HOME
        # Ants 3.9: better by the factor beta.
        if not new_cost * beta < now_cost:
            return f"{new_cost:.2f} ms is not better than {now_cost:.2f} ms by the factor {beta:g}"
        least_ms = self._params.gain_ms_min
        if now_cost - new_cost < least_ms:
            return f"{new_cost:.2f} ms is better than {now_cost:.2f} ms by less than {least_ms:g} ms"
        too_soon = None if comparison.cut_off else self._too_soon(comparison, now_ms=now_ms)
        if too_soon is not None or math.isinf(now_cost):
            return too_soon  # cut off or overloaded: any other host is better, however long the move takes
        # A message that meets the pause waits half of it on average: pause^2 / 2 for each moved task, against the gain.
        price = comparison.weight * len(comparison.moves) * self.pause_ms**2 / 2
        gain = (now_cost - new_cost) * self._params.horizon_ms
        if gain <= price:
            return f"the pause of {len(comparison.moves)} moves costs more than {now_cost - new_cost:.3f} ms gained"
        return None

    def _too_soon(self, comparison: Comparison, *, now_ms: float) -> str | None:
        for task, host in comparison.moves:
            ago_ms = now_ms - self._left_ms.get((task, host), -math.inf)
            if ago_ms < self._cool_ms:
                return f"task {task} left {host} only {ago_ms:.0f} ms ago; the cool-down is {self._cool_ms:.0f} ms"
            until_ms, _ = self._in_vain.get((task, host), (-math.inf, 0.0))
            if now_ms < until_ms:
                left_s = (until_ms - now_ms) / 1e3
                return f"task {task} did not get to {host} lately; that is tried again in {left_s:.0f} s"
        return None
