"""The state machine of a move: a table of phases, each with what it waits for, how long, and the way back.

    proposed -> warming -> draining -> fencing -> catching_up -> releasing -> done
                   |           |          |            |
                   |           +----------+------------+--> returning -> rolled_back
                   +--> abandoned                               +--> abandoned

It looks at facts, not at events: whoever reads the same registry and the same words of the hosts decides the same,
however often it looks. So an instance that takes over simply goes on, and nothing is lost with a message.

Who owns the partition is decided by the registry's epoch alone, and by one write: `HandOver`. Before it the origin
works as if nothing were; after it the target takes over by itself, without further word from here. What this machine
adds is patience and the way back.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from placement.moves.facts import Facts
from placement.moves.move import ENDED, Effect, FollowAtTarget, GiveBack, HandOver, Move, Phase, Release, SkipDrain


@dataclass(frozen=True, slots=True)
class MoveParams:
    """How long each phase may take."""

    proposed_ms_max: int = 600_000
    warming_ms_max: int = 300_000
    draining_ms_max: int = 15_000
    fencing_ms_max: int = 15_000
    catching_up_ms_max: int = 60_000
    releasing_ms_max: int = 15_000
    returning_ms_max: int = 60_000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            assert getattr(self, name) > 0, (name, self)

    def patience_ms(self, phase: Phase) -> int:
        """How long a move may be in this phase."""
        patience_ms: int = getattr(self, f"{phase.value}_ms_max")
        return patience_ms


@dataclass(frozen=True, slots=True)
class Step:
    """The next phase, with what to write for it, and a word on what went wrong."""

    phase: Phase
    effects: tuple[Effect, ...] = ()
    trouble: str | None = None


Rule = Callable[[Move, Facts], Step | None]
"""Looks at the facts in one phase; None: nothing has changed."""


def advance(move: Move, facts: Facts, *, now_ms: int, params: MoveParams) -> tuple[Move, tuple[Effect, ...]]:
    """The move one step further, or as it is. Call it again while it changes: one look may bring several steps."""
    if move.phase in ENDED:
        return move, ()
    step = _superseded(move, facts) or RULES[move.phase](move, facts)
    if step is None and now_ms - move.since_ms >= params.patience_ms(move.phase):
        waited_s, why = params.patience_ms(move.phase) / 1_000, f": {facts.held_up_by}" if facts.held_up_by else ""
        step = TOO_LATE[move.phase](move, f"{move.phase.value} took longer than {waited_s:.0f} s{why}")
    if step is None:
        return move, ()
    moved = replace(move, phase=step.phase, since_ms=now_ms, trouble=step.trouble or move.trouble)
    if step.phase is Phase.DRAINING and move.phase is Phase.WARMING:
        moved = replace(moved, paused_ms=now_ms)
    if step.phase in (Phase.RELEASING, Phase.ROLLED_BACK):
        moved = _with_pause(moved, facts)
    elif step.phase is Phase.DONE:
        moved = _with_word(moved, facts)
    return moved, step.effects


def _with_pause(move: Move, facts: Facts) -> Move:
    """The pause: from the last record at the origin, if it said so, until the target runs, or the origin again. By what
    hosts have told.

    It does not begin before the order to stop: where nothing came, the last record may be an hour old.
    """
    has_drained = facts.drained_epoch >= move.epoch
    begins_ms = [at_ms for at_ms in (move.paused_ms, facts.stopped_ms if has_drained else None) if at_ms is not None]
    if facts.told is None or not begins_ms:
        return move
    begin_ms = max(begins_ms)
    return replace(move, paused_ms=begin_ms, actual_pause_ms=float(max(0, facts.told.at_ms - begin_ms)))


def _with_word(move: Move, facts: Facts) -> Move:
    """The origin's word may come behind that of the target, on another topic: then the pause was taken to begin with
    the order to stop, and what the origin still did after that counted as pause."""
    stopped_ms = facts.stopped_ms if facts.drained_epoch >= move.epoch else None
    if stopped_ms is None or move.paused_ms is None or move.actual_pause_ms is None or stopped_ms <= move.paused_ms:
        return move
    worked_on_ms = stopped_ms - move.paused_ms
    return replace(move, paused_ms=stopped_ms, actual_pause_ms=max(0.0, move.actual_pause_ms - worked_on_ms))


def _superseded(move: Move, facts: Facts) -> Step | None:
    """Somebody else has written the registry since, and the registry is always right: this move is over."""
    owner, epoch = _EXPECTED[move.phase](move)
    if (facts.owner, facts.epoch) == (owner, epoch):
        return None
    is_left_following = move.phase is Phase.WARMING and facts.epoch > 0 and facts.owner != move.target
    effects = _let_go(move) if is_left_following else ()
    return Step(Phase.ABANDONED, effects, f"the registry now says {facts.owner} with epoch {facts.epoch}")


def _let_go(move: Move) -> tuple[Effect, ...]:
    """The target no longer follows for a move that is given up; one that did so before goes on."""
    return () if move.followed else (FollowAtTarget(wanted=False),)


_EXPECTED: dict[Phase, Callable[[Move], tuple[str, int]]] = {
    Phase.PROPOSED: lambda move: (move.origin, move.epoch),
    Phase.WARMING: lambda move: (move.origin, move.epoch),
    Phase.DRAINING: lambda move: (move.target, move.epoch + 1),
    Phase.FENCING: lambda move: (move.target, move.epoch + 1),
    Phase.CATCHING_UP: lambda move: (move.target, move.epoch + 1),
    Phase.RELEASING: lambda move: (move.target, move.epoch + 1),
    Phase.RETURNING: lambda move: (move.origin, move.epoch + 2),
}
"""Who owns the partition while a move is in a phase, and since which epoch."""


def _proposed(move: Move, facts: Facts) -> Step | None:
    """It waits until the schedule lets it begin (`begun`)."""
    return _lost_before(move, facts, ())


def begun(
    move: Move, *, predicted_pause_ms: float, now_ms: int, followed: bool = False
) -> tuple[Move, tuple[Effect, ...]]:
    """The schedule lets a proposed move begin. `followed`: the target follows the partition already."""
    assert move.phase is Phase.PROPOSED, move
    warming = replace(
        move, phase=Phase.WARMING, since_ms=now_ms, predicted_pause_ms=predicted_pause_ms, followed=followed
    )
    return warming, (FollowAtTarget(wanted=True),)


def _warming(move: Move, facts: Facts) -> Step | None:
    lost = _lost_before(move, facts, _let_go(move))
    if lost is not None:
        return lost
    # A target that is warm goes on following until a quieter time.
    return Step(Phase.DRAINING, (HandOver(),)) if facts.is_warm and not facts.is_too_dear else None


def _lost_before(move: Move, facts: Facts, effects: tuple[Effect, ...]) -> Step | None:
    """A host is lost while the origin still owns the partition. Without the origin it is not moved but placed anew."""
    if move.target in facts.lost:
        return Step(Phase.ABANDONED, effects, f"host {move.target} is gone")
    # The target goes on following: it may be the best place for what the origin leaves behind.
    return Step(Phase.ABANDONED, (), f"host {move.origin} is gone") if move.origin in facts.lost else None


def _draining(move: Move, facts: Facts) -> Step | None:
    ahead = _taking_over(move, facts)
    if ahead is not None:
        return ahead
    if facts.drained_epoch >= move.epoch:
        return Step(Phase.FENCING)
    if move.origin in facts.lost:
        return Step(
            Phase.FENCING, (SkipDrain(),), f"host {move.origin} is gone; what it had not committed is done again"
        )
    return Step(Phase.FENCING) if _step_of(move, facts) == "fencing" else None


def _fencing(move: Move, facts: Facts) -> Step | None:
    ahead = _taking_over(move, facts)
    if ahead is not None:
        return ahead
    return Step(Phase.CATCHING_UP) if _step_of(move, facts) == "catching_up" else None


def _taking_over(move: Move, facts: Facts) -> Step | None:
    """What may happen at any time after the hand-over: the target runs it, can't, or is lost."""
    if move.target in facts.lost:
        return _back(f"host {move.target} is gone")
    told = facts.told
    if told is None or (told.host, told.epoch) != (move.target, move.epoch + 1):
        return None
    if told.state == "running":
        return Step(Phase.RELEASING, (Release(),))
    return _back(f"host {move.target} can't run it: {told.reason}") if told.state == "parked" else None


def _releasing(move: Move, facts: Facts) -> Step | None:
    """Done when the origin has let go: it said so, or it is gone. What happens to the target now is another story."""
    has_let_go = facts.drained_epoch >= move.epoch or move.origin in facts.lost
    return Step(Phase.DONE) if has_let_go or move.target in facts.lost else None


def _returning(move: Move, facts: Facts) -> Step | None:
    if move.origin in facts.lost:
        return Step(Phase.ABANDONED, (), f"host {move.origin} is gone too")
    told = facts.told
    is_back = told is not None and (told.host, told.epoch, told.state) == (move.origin, move.epoch + 2, "running")
    return Step(Phase.ROLLED_BACK) if is_back else None


def _step_of(move: Move, facts: Facts) -> str | None:
    told = facts.told
    is_new_owner = told is not None and (told.host, told.epoch) == (move.target, move.epoch + 1)
    return told.step if told is not None and is_new_owner else None


def _back(trouble: str) -> Step:
    return Step(Phase.RETURNING, (GiveBack(),), trouble)


RULES: dict[Phase, Rule] = {
    Phase.PROPOSED: _proposed,
    Phase.WARMING: _warming,
    Phase.DRAINING: _draining,
    Phase.FENCING: _fencing,
    Phase.CATCHING_UP: _taking_over,
    Phase.RELEASING: _releasing,
    Phase.RETURNING: _returning,
}

TOO_LATE: dict[Phase, Callable[[Move, str], Step]] = {
    Phase.PROPOSED: lambda _, why: Step(Phase.ABANDONED, (), why),
    Phase.WARMING: lambda move, why: Step(Phase.ABANDONED, _let_go(move), why),
    Phase.DRAINING: lambda _, why: _back(why),
    Phase.FENCING: lambda _, why: _back(why),
    Phase.CATCHING_UP: lambda _, why: _back(why),
    Phase.RELEASING: lambda _, why: Step(Phase.DONE, (), why),
    Phase.RETURNING: lambda _, why: Step(Phase.ABANDONED, (), why),
}
"""What becomes of a move whose time in a phase is up."""
