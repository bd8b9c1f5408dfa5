"""Which proposed moves may begin: not too many at once, and none that breaks what a flow allows for pauses."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from placement.moves.move import Move, Phase

NOTHING: Mapping[tuple[str, int], float] = {}


@dataclass(frozen=True, slots=True)
class ScheduleParams:
    """How many moves may be under way at once, in all and at each host."""

    parallel_max: int = 16
    parallel_per_host_max: int = 8
    window_ms: int = 3_600_000
    """Pauses are added up over this time."""

    def __post_init__(self) -> None:
        assert 0 < self.parallel_per_host_max <= self.parallel_max, self
        assert self.window_ms > 0, self


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a flow allows: so much pause of one partition within the window; None: it does not mind."""

    budget_ms: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one proposed move: begin it, wait, or refuse it, and why."""

    move: Move
    ruling: Literal["begin", "wait", "refuse"]
    why: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """How long a move would pause its partition if it began now, and at the quietest time: with nothing unread."""

    now_ms: float
    calm_ms: float


def schedule(
    moves: Sequence[Move],
    forecasts: Mapping[str, Forecast],
    allowances: Mapping[str, Allowance],
    *,
    now_ms: int,
    params: ScheduleParams,
    besides_ms: Mapping[tuple[str, int], float] = NOTHING,
) -> list[Verdict]:
    """A verdict for each proposed move, oldest first. `moves`: all that are known, also those that have ended.

    `besides_ms`: how long partitions have paused within the window for what was no move.

    A person's own wish (a move with a `request`) is not held to the budget: they have been told the pause.
    A move that breaks the budget now but would not at a quieter time waits: it is looked at again with each look.
    """
    under_way = [move for move in moves if not move.has_ended and move.phase is not Phase.PROPOSED]
    total = len(under_way)
    busy = Counter(host for move in under_way for host in (move.origin, move.target))
    moving = {move.slot for move in under_way}
    spent_ms = spent(moves, since_ms=now_ms - params.window_ms, besides_ms=besides_ms)
    verdicts = []
    for move in sorted(_proposed(moves), key=lambda each: (each.proposed_ms, each.id)):
        predicted_ms = forecasts[move.id].now_ms
        verdict = _over_budget(move, forecasts[move.id], allowances.get(move.flow), spent_ms)
        if verdict is None and move.slot in moving:
            verdict = Verdict(move, "wait", "another move of this partition is under way")
        if verdict is None and total >= params.parallel_max:
            verdict = Verdict(move, "wait", f"{total} moves are under way")
        crowded = [host for host in (move.origin, move.target) if busy[host] >= params.parallel_per_host_max]
        if verdict is None and crowded:
            verdict = Verdict(move, "wait", f"host {crowded[0]} takes part in {busy[crowded[0]]} moves")
        if verdict is None:
            verdict = Verdict(move, "begin", f"a pause of {predicted_ms:.0f} ms is predicted")
            total += 1
            busy.update((move.origin, move.target))
            moving.add(move.slot)
            spent_ms[move.slot] = spent_ms.get(move.slot, 0.0) + predicted_ms
        verdicts.append(verdict)
    return verdicts


def is_too_dear(
    move: Move,
    forecast: Forecast,
    moves: Iterable[Move],
    allowance: Allowance | None,
    *,
    now_ms: int,
    params: ScheduleParams,
    besides_ms: Mapping[tuple[str, int], float] = NOTHING,
) -> bool:
    """Whether a move that has begun would break the budget if it handed over now; what it was granted is its own."""
    others = (other for other in moves if other.id != move.id)
    spent_ms = spent(others, since_ms=now_ms - params.window_ms, besides_ms=besides_ms)
    return _over_budget(move, forecast, allowance, spent_ms) is not None


def _over_budget(
    move: Move, forecast: Forecast, allowance: Allowance | None, spent_ms: Mapping[tuple[str, int], float]
) -> Verdict | None:
    budget_ms = allowance.budget_ms if allowance is not None else None
    if budget_ms is None or move.request is not None:
        return None
    if forecast.calm_ms > budget_ms:
        why = f"a pause of {forecast.calm_ms:.0f} ms is predicted, and flow {move.flow} allows {budget_ms:.0f} ms"
        return Verdict(move, "refuse", why)
    left_ms = budget_ms - spent_ms.get(move.slot, 0.0)
    if forecast.now_ms > left_ms:
        why = (
            f"a pause of {forecast.now_ms:.0f} ms is predicted, "
            f"and {max(0.0, left_ms):.0f} of {budget_ms:.0f} ms are left"
        )
        return Verdict(move, "wait", why)
    return None


def spent(
    moves: Iterable[Move], *, since_ms: int, besides_ms: Mapping[tuple[str, int], float] = NOTHING
) -> dict[tuple[str, int], float]:
    """How long each partition has paused for moves since then, and `besides_ms` for what was no move.

    Of moves under way, what was predicted. One that was given up after it had paused its partition has paused it at
    least until then; one that was given up before has not.
    """
    spent_ms = dict(besides_ms)
    for move in moves:
        pause_ms = move.actual_pause_ms if move.actual_pause_ms is not None else move.predicted_pause_ms
        if move.phase is Phase.ABANDONED:
            pause_ms = float(move.since_ms - move.paused_ms) if move.paused_ms is not None else None
        if pause_ms is not None and move.since_ms >= since_ms:
            spent_ms[move.slot] = spent_ms.get(move.slot, 0.0) + pause_ms
    return spent_ms


def _proposed(moves: Iterable[Move]) -> list[Move]:
    return [move for move in moves if move.phase is Phase.PROPOSED]
