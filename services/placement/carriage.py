"""Moves on their way: from the registry's records to the state machine and back, and what each step writes."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from placement.moves import (
    Allowance,
    Effect,
    Facts,
    FollowAtTarget,
    Forecast,
    GiveBack,
    HandOver,
    Move,
    PauseModel,
    Phase,
    Release,
    SkipDrain,
    Told,
    advance,
    begun,
    is_too_dear,
    schedule,
)
from services.host.reports import STATUS_EVERY_S
from services.placement.leader_pauses import leader_pauses
from services.placement.params import PlacementParams
from services.placement.situation import KnownFlow, Situation
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.view import Slot
from topics import catalogue
from topics.messages import MoveRecord, Placement, StandbyStatus, clip

STEPS_MAX = 8
"""More than a move has phases."""
CLOCK_SLACK_MS = 2_000
"""By so much a host may be wrong about the broker's clock, with us or with what another broker says."""
WORD_MS_MAX = int(STATUS_EVERY_S * 1_000) + CLOCK_SLACK_MS
"""A host that follows a partition says so again and again; an older word may be of a process that is gone."""
KINDS = {Phase.DONE: "moved", Phase.ROLLED_BACK: "rolled_back", Phase.ABANDONED: "abandoned"}


class Carriage:
    """Carries all moves on at each look. `moves` are those that have not ended, and those that ended lately."""

    def __init__(self, params: PlacementParams, records: Iterable[MoveRecord]) -> None:
        self.moves: dict[str, Move] = {record.move: from_record(record) for record in records}
        self._params = params
        self._waits: dict[str, str] = {}
        """Proposed moves that may not begin yet, and why, as of the last look."""
        self._model = PauseModel(params.pause)
        for move in sorted(self.moves.values(), key=lambda each: each.since_ms):
            self._learn(move)

    def under_way(self) -> dict[Slot, Move]:
        """The moves that have not ended, by slot."""
        return {move.slot: move for move in self.moves.values() if not move.has_ended}

    def tried(self, slot: Slot, plan: str) -> bool:
        """Whether a move of this partition under this plan was begun lately, however it ended; so one that failed is
        tried once more when it is forgotten."""
        return any(move.slot == slot and move.plan == plan for move in self.moves.values())

    def propose(
        self,
        placement: Placement,
        target: str,
        reason: str,
        situation: Situation,
        *,
        plan: str | None = None,
        request: str | None = None,
    ) -> Entry:
        """A new move, to begin when the schedule lets it."""
        assert placement.host is not None, placement
        move = Move(
            id=f"m-{uuid.uuid4().hex[:16]}",
            flow=placement.flow,
            segment=placement.segment,
            partition=placement.partition,
            origin=placement.host,
            target=target,
            epoch=placement.epoch,
            phase=Phase.PROPOSED,
            proposed_ms=situation.now_ms,
            since_ms=situation.now_ms,
            reason=reason,
            plan=plan,
            request=request,
        )
        self.moves[move.id] = move
        return catalogue.MOVES, to_record(move)

    def predict(self, slot: Slot, target: str, situation: Situation) -> float:
        """How long nobody would work on a partition if it moved now."""
        placement = situation.view.placements.get(slot)
        origin = placement.host if placement is not None else None
        return self._forecast(slot, origin, target, situation).now_ms

    def _forecast(self, slot: Slot, origin: str | None, target: str, situation: Situation) -> Forecast:
        calm_ms = self._model.predict(slot[0], origin, target, unread_changes=0)
        unread = _unread(slot, target, situation)
        return Forecast(self._model.predict(slot[0], origin, target, unread_changes=unread), calm_ms)

    def carry_on(self, situation: Situation) -> Iterator[Entry]:
        """What is to be written now for all moves, each as far as it goes."""
        waiting = [move for move in self.moves.values() if move.phase is Phase.PROPOSED]
        yield from self._carry_all(waiting, situation)  # what the registry has overtaken must not begin
        yield from self._begin(situation)
        yield from self._carry_all([move for move in self.moves.values() if not move.has_ended], situation)
        yield from self._let_go(situation)
        self._forget_old(situation.now_ms)

    def _let_go(self, situation: Situation) -> Iterator[Entry]:
        """Nobody waits for a former owner whose successor runs, or that is lost. Moves let go of theirs; one of another
        revision, or of a command that was killed, would be waited for again at each start of the new owner."""
        cared_for = self.under_way()
        waited_for = [item for item in situation.view.placements.items() if item[1].origin is not None]
        for slot, before in sorted(waited_for):
            if slot in cared_for:
                continue
            if situation.says(slot, "running") or before.origin in situation.lost:
                after = msgspec.structs.replace(before, origin=None)
                situation.view.take(after)
                yield catalogue.PLACEMENTS, after

    def _begin(self, situation: Situation) -> Iterator[Entry]:
        waiting = [move for move in self.moves.values() if move.phase is Phase.PROPOSED]
        if not waiting:
            return
        forecasts = {move.id: self._forecast(move.slot, move.origin, move.target, situation) for move in waiting}
        allowances = {name: _allowance(known) for name, known in situation.flows.items()}
        verdicts = schedule(
            list(self.moves.values()),
            forecasts,
            allowances,
            now_ms=situation.now_ms,
            params=self._params.schedule,
            besides_ms=self._leader_pauses(situation),
        )
        self._waits = {verdict.move.id: verdict.why for verdict in verdicts if verdict.ruling == "wait"}
        for verdict in verdicts:
            move = verdict.move
            if verdict.ruling == "begin":
                moved, effects = begun(
                    move,
                    predicted_pause_ms=forecasts[move.id].now_ms,
                    now_ms=situation.now_ms,
                    followed=move.target in situation.view.placements[move.slot].standbys,
                )
                yield from self._write(moved, effects, situation)
            elif verdict.ruling == "refuse":
                refused = replace(move, phase=Phase.ABANDONED, since_ms=situation.now_ms, trouble=verdict.why)
                yield from self._write(refused, (), situation)

    def _carry_all(self, moves: Iterable[Move], situation: Situation) -> Iterator[Entry]:
        for move in sorted(moves, key=lambda each: each.id):
            yield from self._carry(move, situation)

    def _carry(self, move: Move, situation: Situation) -> Iterator[Entry]:
        for _ in range(STEPS_MAX):
            moved, effects = advance(
                move, self._facts(move, situation), now_ms=situation.now_ms, params=self._params.moves
            )
            if moved == move:
                return
            if moved.phase is Phase.DRAINING:
                moved = replace(moved, unread_changes=_unread(move.slot, move.target, situation))
            yield from self._write(moved, effects, situation)
            move = moved

    def _write(self, move: Move, effects: tuple[Effect, ...], situation: Situation) -> Iterator[Entry]:
        """The move, what it does to the registry, and if it has ended the decision; seen here at once."""
        self.moves[move.id] = move
        yield catalogue.MOVES, to_record(move)
        for effect in effects:
            before = situation.view.placements[move.slot]
            after = _written(before, move, effect, now_ms=situation.now_ms)
            if after != before:
                situation.view.take(after)
                yield catalogue.PLACEMENTS, after
        if move.has_ended:
            self._learn(move)
            yield self._told(move, situation.now_ms)

    def _told(self, move: Move, now_ms: int) -> Entry:
        evidence = {
            name: value
            for name, value in (("predicted_pause_ms", move.predicted_pause_ms), ("pause_ms", move.actual_pause_ms))
            if value is not None
        }
        return decision(
            KINDS[move.phase],
            f"{move.segment}/{move.partition} from {move.origin} to {move.target}",
            move.trouble or move.reason,
            by=self._params.name,
            now_ms=now_ms,
            flow=move.flow,
            request=move.request,
            plan=move.plan,
            evidence=evidence,
        )

    def _facts(self, move: Move, situation: Situation) -> Facts:
        view = situation.view
        placement, status = view.placements.get(move.slot), view.statuses.get(move.slot)
        word, standby = view.handovers.get(move.slot), view.standbys.get((*move.slot, move.target))
        told = (
            Told(status.host, status.epoch, status.state, status.since_ms, status.step, status.reason)
            if status is not None
            else None
        )
        follows = placement is not None and move.target in placement.standbys
        is_warm = follows and standby is not None and _is_ready(standby, move, situation.now_ms)
        return Facts(
            owner=placement.host if placement is not None else None,
            epoch=placement.epoch if placement is not None else 0,
            told=told,
            is_warm=is_warm,
            drained_epoch=word.epoch if word is not None else 0,
            stopped_ms=word.stopped_ms if word is not None else None,
            lost=situation.lost,
            is_too_dear=move.phase is Phase.WARMING and is_warm and self._is_too_dear(move, situation),
            held_up_by=self._waits.get(move.id) if move.phase is Phase.PROPOSED else None,
        )

    def _is_too_dear(self, move: Move, situation: Situation) -> bool:
        """By what the target has still to read now; the prediction that let the move begin stays the one on record."""
        known = situation.flows.get(move.flow)
        return is_too_dear(
            move,
            self._forecast(move.slot, move.origin, move.target, situation),
            self.moves.values(),
            _allowance(known) if known is not None else None,
            now_ms=situation.now_ms,
            params=self._params.schedule,
            besides_ms=self._leader_pauses(situation),
        )

    def _leader_pauses(self, situation: Situation) -> dict[Slot, float]:
        since_ms = situation.now_ms - self._params.schedule.window_ms
        return leader_pauses(situation.view.decisions.values(), since_ms=since_ms)

    def _learn(self, move: Move) -> None:
        """From moves that went as they should, and of which it is known how much was left to read."""
        if move.phase is not Phase.DONE or move.trouble is not None:
            return
        if move.actual_pause_ms is not None and move.unread_changes is not None:
            self._model = self._model.learn(
                move.actual_pause_ms,
                move.segment,
                move.origin,
                move.target,
                unread_changes=move.unread_changes,
            )

    def _forget_old(self, now_ms: int) -> None:
        """What ended before the window in which pauses are added up is history; the topic keeps it."""
        oldest_ms = now_ms - self._params.schedule.window_ms
        self.moves = {
            name: move for name, move in self.moves.items() if not move.has_ended or move.since_ms > oldest_ms
        }


def _allowance(known: KnownFlow) -> Allowance:
    return Allowance(float(known.graph.spec.pause_budget_ms))


def _is_ready(standby: StandbyStatus, move: Move, now_ms: int) -> bool:
    """Whether a host has said since the move began, and lately, that it could take over at once."""
    return standby.is_ready and standby.reported_ms >= max(move.since_ms - CLOCK_SLACK_MS, now_ms - WORD_MS_MAX)


def _unread(slot: Slot, target: str, situation: Situation) -> int:
    """Changes of a partition that a host which follows it has not read, as it said lately.

    A target that does not follow yet will when the partition is handed over: it is warmed up first.
    """
    standby = situation.view.standbys.get((*slot, target))
    is_fresh = standby is not None and standby.is_ready and standby.reported_ms >= situation.now_ms - WORD_MS_MAX
    return standby.lag if standby is not None and is_fresh else 0


def _written(before: Placement, move: Move, effect: Effect, *, now_ms: int) -> Placement:
    """The registry's entry after one effect."""
    others = tuple(host for host in before.standbys if host != move.target)
    match effect:
        case FollowAtTarget(wanted=wanted):
            return msgspec.structs.replace(before, standbys=(*others, move.target) if wanted else others)
        case HandOver():
            return msgspec.structs.replace(
                before,
                host=move.target,
                epoch=before.epoch + 1,
                placed_ms=now_ms,
                standbys=others,
                origin=move.origin,
                plan=move.plan or before.plan,
            )
        case GiveBack():
            return msgspec.structs.replace(
                before,
                host=move.origin,
                epoch=before.epoch + 1,
                placed_ms=now_ms,
                standbys=(*others, move.target) if move.followed else others,
                origin=None,
            )
        case SkipDrain() | Release():
            return msgspec.structs.replace(before, origin=None)


def to_record(move: Move) -> MoveRecord:
    """As it is written down."""
    return MoveRecord(
        move=move.id,
        flow=move.flow,
        segment=move.segment,
        partition=move.partition,
        epoch=move.epoch,
        origin=move.origin,
        target=move.target,
        phase=move.phase.value,
        proposed_ms=move.proposed_ms,
        since_ms=move.since_ms,
        reason=clip(move.reason),
        plan=move.plan,
        request=move.request,
        predicted_pause_ms=move.predicted_pause_ms,
        paused_ms=move.paused_ms,
        actual_pause_ms=move.actual_pause_ms,
        trouble=clip(move.trouble) if move.trouble is not None else None,
        unread_changes=move.unread_changes,
        followed=move.followed,
    )


def from_record(record: MoveRecord) -> Move:
    """As it goes on."""
    return Move(
        id=record.move,
        flow=record.flow,
        segment=record.segment,
        partition=record.partition,
        origin=record.origin,
        target=record.target,
        epoch=record.epoch,
        phase=Phase(record.phase),
        proposed_ms=record.proposed_ms,
        since_ms=record.since_ms,
        reason=record.reason,
        plan=record.plan,
        request=record.request,
        predicted_pause_ms=record.predicted_pause_ms,
        paused_ms=record.paused_ms,
        actual_pause_ms=record.actual_pause_ms,
        trouble=record.trouble,
        unread_changes=record.unread_changes,
        followed=record.followed,
    )
