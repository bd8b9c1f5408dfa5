"""Each phase of a move: what it waits for, what it writes, and the way back when its time is up."""

from dataclasses import replace

import pytest

from placement.moves import (
    Effect,
    Facts,
    FollowAtTarget,
    GiveBack,
    HandOver,
    Move,
    MoveParams,
    Phase,
    Release,
    SkipDrain,
    Told,
    advance,
    begun,
)

PARAMS = MoveParams()
NOW_MS = 1_000_000
BEFORE = {"owner": "a", "epoch": 6}
AFTER = {"owner": "b", "epoch": 7}
BACK = {"owner": "a", "epoch": 8}


def move(phase: Phase) -> Move:
    return Move("m", "f", "f.s", 2, "a", "b", 6, phase, NOW_MS - 500, NOW_MS - 100, "test", paused_ms=NOW_MS - 80)


def facts(**given: object) -> Facts:
    nothing: dict[str, object] = {
        "told": None,
        "is_warm": False,
        "drained_epoch": 5,
        "stopped_ms": None,
        "lost": frozenset(),
    }
    return Facts(**{**nothing, **given})


def told(host: str, epoch: int, state: str, step: str | None = None, reason: str | None = None) -> Told:
    return Told(host, epoch, state, NOW_MS - 20, step, reason)


STEPS = [
    (Phase.WARMING, BEFORE | {"is_warm": True}, Phase.DRAINING, (HandOver(),)),
    (Phase.DRAINING, AFTER | {"drained_epoch": 6}, Phase.FENCING, ()),
    (Phase.DRAINING, AFTER | {"told": told("b", 7, "recovering", "fencing")}, Phase.FENCING, ()),
    (Phase.DRAINING, AFTER | {"told": told("b", 7, "running")}, Phase.RELEASING, (Release(),)),
    (Phase.FENCING, AFTER | {"told": told("b", 7, "recovering", "catching_up")}, Phase.CATCHING_UP, ()),
    (Phase.CATCHING_UP, AFTER | {"told": told("b", 7, "running")}, Phase.RELEASING, (Release(),)),
    (Phase.RELEASING, AFTER | {"drained_epoch": 6}, Phase.DONE, ()),
    (Phase.RETURNING, BACK | {"told": told("a", 8, "running")}, Phase.ROLLED_BACK, ()),
]
LOSSES = [
    (Phase.PROPOSED, BEFORE, "b", Phase.ABANDONED, ()),
    (Phase.PROPOSED, BEFORE, "a", Phase.ABANDONED, ()),
    (Phase.WARMING, BEFORE, "b", Phase.ABANDONED, (FollowAtTarget(wanted=False),)),
    (Phase.WARMING, BEFORE, "a", Phase.ABANDONED, ()),
    (Phase.DRAINING, AFTER, "b", Phase.RETURNING, (GiveBack(),)),
    (Phase.DRAINING, AFTER, "a", Phase.FENCING, (SkipDrain(),)),
    (Phase.FENCING, AFTER, "b", Phase.RETURNING, (GiveBack(),)),
    (Phase.CATCHING_UP, AFTER, "b", Phase.RETURNING, (GiveBack(),)),
    (Phase.RELEASING, AFTER, "a", Phase.DONE, ()),
    (Phase.RELEASING, AFTER, "b", Phase.DONE, ()),
    (Phase.RETURNING, BACK, "a", Phase.ABANDONED, ()),
]
TIME_OUTS = [
    (Phase.PROPOSED, BEFORE, Phase.ABANDONED, ()),
    (Phase.WARMING, BEFORE, Phase.ABANDONED, (FollowAtTarget(wanted=False),)),
    (Phase.DRAINING, AFTER, Phase.RETURNING, (GiveBack(),)),
    (Phase.FENCING, AFTER, Phase.RETURNING, (GiveBack(),)),
    (Phase.CATCHING_UP, AFTER, Phase.RETURNING, (GiveBack(),)),
    (Phase.RELEASING, AFTER, Phase.DONE, ()),
    (Phase.RETURNING, BACK, Phase.ABANDONED, ()),
]


@pytest.mark.parametrize(("phase", "known", "expected", "effects"), STEPS)
def test_what_a_phase_waits_for_leads_to_the_next(
    phase: Phase, known: dict[str, object], expected: Phase, effects: tuple[Effect, ...]
) -> None:
    """The way from warming up to the end."""
    after, written = advance(move(phase), facts(**known), now_ms=NOW_MS, params=PARAMS)
    assert (expected, effects, NOW_MS) == (after.phase, written, after.since_ms)


@pytest.mark.parametrize(("phase", "known", "host", "expected", "effects"), LOSSES)
def test_a_lost_host_ends_a_move_where_one_owner_is_left(
    phase: Phase, known: dict[str, object], host: str, expected: Phase, effects: tuple[Effect, ...]
) -> None:
    """Before the hand-over nothing happened; after it the target goes on, or the origin gets it back."""
    after, written = advance(move(phase), facts(**known, lost=frozenset({host})), now_ms=NOW_MS, params=PARAMS)
    assert (expected, effects) == (after.phase, written)


@pytest.mark.parametrize(("phase", "known", "expected", "effects"), TIME_OUTS)
def test_each_phase_has_its_time_and_a_way_back(
    phase: Phase, known: dict[str, object], expected: Phase, effects: tuple[Effect, ...]
) -> None:
    """Nothing waits for ever; a moment before its time is up nothing happens."""
    late_ms = NOW_MS - 100 + PARAMS.patience_ms(phase)
    early, nothing = advance(move(phase), facts(**known), now_ms=late_ms - 1, params=PARAMS)
    assert (move(phase), ()) == (early, nothing)
    after, written = advance(move(phase), facts(**known), now_ms=late_ms, params=PARAMS)
    assert (expected, effects) == (after.phase, written)
    assert f"{phase.value} took longer than" in str(after.trouble)


def test_a_warm_target_waits_while_the_hand_over_would_pause_for_too_long() -> None:
    """Nothing is lost by waiting: the origin works, the target follows. But it does not wait for ever."""
    warm = facts(**BEFORE, is_warm=True, is_too_dear=True)
    assert (move(Phase.WARMING), ()) == advance(move(Phase.WARMING), warm, now_ms=NOW_MS, params=PARAMS)
    late_ms = NOW_MS - 100 + PARAMS.patience_ms(Phase.WARMING)
    after, written = advance(move(Phase.WARMING), warm, now_ms=late_ms, params=PARAMS)
    assert (Phase.ABANDONED, (FollowAtTarget(wanted=False),)) == (after.phase, written)


@pytest.mark.parametrize("phase", [phase for phase, *_ in TIME_OUTS])
def test_the_registry_is_always_right(phase: Phase) -> None:
    """A person, or another instance, has given the partition to somebody: whatever was going on here is over."""
    after, written = advance(move(phase), facts(owner="c", epoch=9), now_ms=NOW_MS, params=PARAMS)
    effects = (FollowAtTarget(wanted=False),) if phase is Phase.WARMING else ()
    assert (Phase.ABANDONED, effects) == (after.phase, written)
    assert "the registry now says c with epoch 9" == after.trouble


def test_who_is_not_to_follow_for_a_move_alone_is_left_as_it_is() -> None:
    """The target owns the partition by now, followed it before, or nothing is known of the partition any more."""
    followed = replace(move(Phase.WARMING), followed=True)
    for given, known in (
        (move(Phase.WARMING), {"owner": "b", "epoch": 9}),
        (move(Phase.WARMING), {"owner": None, "epoch": 0}),
        (followed, {"owner": "c", "epoch": 9}),
        (followed, BEFORE | {"lost": frozenset({"b"})}),
    ):
        after, written = advance(given, facts(**known), now_ms=NOW_MS, params=PARAMS)
        assert (Phase.ABANDONED, ()) == (after.phase, written)
    late_ms = NOW_MS + PARAMS.warming_ms_max
    assert () == advance(followed, facts(**BEFORE), now_ms=late_ms, params=PARAMS)[1]


def test_a_target_that_cannot_run_it_gives_it_back_at_once() -> None:
    """It says why it parked; waiting for the time-out would only lengthen the pause."""
    parked = told("b", 7, "parked", reason="no such function")
    after, written = advance(move(Phase.FENCING), facts(**AFTER, told=parked), now_ms=NOW_MS, params=PARAMS)
    assert (Phase.RETURNING, (GiveBack(),)) == (after.phase, written)
    assert "host b can't run it: no such function" == after.trouble


def test_the_pause_is_from_the_order_to_stop_until_the_target_runs() -> None:
    """By the times that were told, not by when somebody looked."""
    running = facts(**AFTER, told=told("b", 7, "running"))
    after, _ = advance(move(Phase.CATCHING_UP), running, now_ms=NOW_MS, params=PARAMS)
    assert 60.0 == after.actual_pause_ms
    said = replace(running, drained_epoch=6, stopped_ms=NOW_MS - 70)
    after, _ = advance(move(Phase.CATCHING_UP), said, now_ms=NOW_MS, params=PARAMS)
    assert 50.0 == after.actual_pause_ms


def test_a_word_of_the_origin_that_comes_late_still_counts() -> None:
    """It is on another topic than the target's. Without it the batch at which the origin still was counted as pause, in
    the figure that people are told and that predictions are learnt from."""
    running = facts(**AFTER, told=told("b", 7, "running"))
    early, _ = advance(move(Phase.CATCHING_UP), running, now_ms=NOW_MS, params=PARAMS)
    said = replace(running, drained_epoch=6, stopped_ms=NOW_MS - 70)
    late, _ = advance(early, said, now_ms=NOW_MS + 100, params=PARAMS)
    assert (Phase.DONE, 50.0, NOW_MS - 70) == (late.phase, late.actual_pause_ms, late.paused_ms)
    other = replace(early, paused_ms=NOW_MS - 70, actual_pause_ms=50.0)
    again, _ = advance(other, said, now_ms=NOW_MS + 100, params=PARAMS)
    assert 50.0 == again.actual_pause_ms, "once"


def test_what_was_idle_before_the_move_paused_only_for_the_move() -> None:
    """Its last record was an hour ago. Nobody missed anything until the origin was told to stop."""
    running = facts(**AFTER, told=told("b", 7, "running"), drained_epoch=6, stopped_ms=NOW_MS - 3_600_000)
    after, _ = advance(move(Phase.CATCHING_UP), running, now_ms=NOW_MS, params=PARAMS)
    assert (60.0, NOW_MS - 80) == (after.actual_pause_ms, after.paused_ms)


def test_a_move_that_went_back_paused_its_partition_until_the_origin_ran_again() -> None:
    """Nobody worked all that time: the next move must not be allowed as if it had been the predicted moment."""
    back = facts(**BACK, told=told("a", 8, "running"), drained_epoch=6, stopped_ms=NOW_MS - 70)
    after, _ = advance(move(Phase.RETURNING), back, now_ms=NOW_MS, params=PARAMS)
    assert (Phase.ROLLED_BACK, 50.0) == (after.phase, after.actual_pause_ms)


def test_words_of_another_epoch_or_host_do_not_count() -> None:
    """The former owner still reports while it drains."""
    for word in (told("a", 6, "running"), told("b", 6, "running"), told("c", 7, "running")):
        waiting = move(Phase.FENCING)
        assert (waiting, ()) == advance(waiting, facts(**AFTER, told=word), now_ms=NOW_MS, params=PARAMS)


def test_a_move_begins_by_warming_up_its_target() -> None:
    """And remembers the pause that was predicted, so that it can be compared."""
    after, written = begun(move(Phase.PROPOSED), predicted_pause_ms=62.5, now_ms=NOW_MS)
    assert (Phase.WARMING, (FollowAtTarget(wanted=True),), 62.5) == (after.phase, written, after.predicted_pause_ms)
    assert replace(after, phase=Phase.DONE).has_ended
