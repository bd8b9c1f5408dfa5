"""Which moves may begin, and how long they are expected to pause."""

from dataclasses import replace

from placement.moves import (
    Allowance,
    Forecast,
    Move,
    PauseModel,
    PauseParams,
    Phase,
    ScheduleParams,
    is_too_dear,
    schedule,
)

NOW_MS = 10_000_000
PARAMS = ScheduleParams(parallel_max=3, parallel_per_host_max=2)


def move(
    number: int, phase: Phase = Phase.PROPOSED, *, origin: str = "a", target: str = "b", partition: int = -1
) -> Move:
    partition = number if partition < 0 else partition
    return Move(f"m{number}", "f", "f.s", partition, origin, target, 1, phase, NOW_MS + number, NOW_MS, "test")


def rulings(
    moves: list[Move], *, budget_ms: float | None = None, predicted_ms: float = 60.0, calm_ms: float | None = None
) -> dict[str, tuple[str, str]]:
    calm_ms = predicted_ms if calm_ms is None else calm_ms
    predictions = {each.id: Forecast(predicted_ms, calm_ms) for each in moves}
    verdicts = schedule(moves, predictions, {"f": Allowance(budget_ms)}, now_ms=NOW_MS, params=PARAMS)
    return {verdict.move.id: (verdict.ruling, verdict.why) for verdict in verdicts}


def test_no_more_begin_than_may_be_under_way() -> None:
    """A host that dies or is drained must not set everything in motion at once."""
    moves = [move(i, origin=f"o{i}", target=f"t{i}") for i in range(5)]
    assert ["begin"] * 3 + ["wait"] * 2 == [ruling for ruling, _ in rulings(moves).values()]
    busy = [move(9, Phase.WARMING, origin="x", target="y"), *moves]
    assert ["begin"] * 2 + ["wait"] * 3 == [ruling for ruling, _ in rulings(busy).values()]


def test_a_host_takes_part_in_few_moves_at_once() -> None:
    """Warming up costs a host processor and memory that its other tasks need."""
    ruled = rulings([move(i, target=f"t{i}") for i in range(3)])
    assert ("wait", "host a takes part in 2 moves") == ruled["m2"]


def test_a_partition_takes_part_in_one_move_at_once() -> None:
    """Two moves of one partition would each undo the other."""
    ruled = rulings([move(1, Phase.DRAINING, partition=7), move(2, partition=7)])
    assert {"m2": ("wait", "another move of this partition is under way")} == ruled


def test_a_move_that_breaks_the_budget_is_refused_and_one_that_would_exceed_it_waits() -> None:
    """A flow may allow no long pauses, or not too many short ones; a person's own wish is not held to it."""
    assert "refuse" == rulings([move(1)], budget_ms=50)["m1"][0]
    spent = replace(move(1, Phase.DONE), actual_pause_ms=70.0)
    again = move(2, partition=1)
    assert ("wait", "a pause of 60 ms is predicted, and 30 of 100 ms are left") == rulings(
        [spent, again], budget_ms=100
    )["m2"]
    assert "begin" == rulings([replace(spent, since_ms=NOW_MS - 3_600_001), again], budget_ms=100)["m2"][0]
    assert "begin" == rulings([spent, replace(again, request="r")], budget_ms=100)["m2"][0]


def test_a_move_that_breaks_the_budget_only_now_waits_for_a_quieter_time() -> None:
    """What the target has yet to read grows with the rate and goes again; a slow takeover stays."""
    assert ("wait", "a pause of 900 ms is predicted, and 500 of 500 ms are left") == rulings(
        [move(1)], budget_ms=500, predicted_ms=900.0, calm_ms=80.0
    )["m1"]
    assert "begin" == rulings([move(1)], budget_ms=500, predicted_ms=200.0, calm_ms=80.0)["m1"][0]
    assert "refuse" == rulings([move(1)], budget_ms=500, predicted_ms=900.0, calm_ms=600.0)["m1"][0]


def test_what_a_move_was_granted_when_it_began_is_not_held_against_it() -> None:
    """It must fit into what the others leave, by the newest forecast."""
    mine = replace(move(1, Phase.WARMING), predicted_pause_ms=80.0)
    others = [replace(move(2, Phase.DONE, partition=1), actual_pause_ms=300.0), mine]
    for now_ms, dear in ((150.0, False), (250.0, True)):
        forecast = Forecast(now_ms, 80.0)
        judged = is_too_dear(mine, forecast, others, Allowance(500.0), now_ms=NOW_MS, params=PARAMS)
        assert dear is judged, now_ms


def test_a_move_that_was_given_up_after_it_had_paused_its_partition_counts() -> None:
    """Its origin was lost on the way back, say: nobody worked for all that time. Given up before, it cost nothing."""
    given_up = replace(move(1, Phase.ABANDONED, partition=7), predicted_pause_ms=60.0)
    assert "begin" == rulings([given_up, move(2, partition=7)], budget_ms=100)["m2"][0]
    given_up = replace(given_up, paused_ms=NOW_MS - 20_000)
    assert "wait" == rulings([given_up, move(2, partition=7)], budget_ms=100)["m2"][0]


def test_the_prediction_follows_what_was_measured() -> None:
    """The first measurement replaces what was assumed; what the standby has still to read counts apart from it."""
    model = PauseModel(PauseParams(takeover_ms=80, restore_per_s=100_000))
    assert 80 + 10 == model.predict("s", "a", "b", unread_changes=1_000)
    model = model.learn(50.0, "s", "a", "b", unread_changes=1_000)
    assert 40 == model.predict("s", "c", "d", unread_changes=0)


def test_moves_between_the_same_hosts_tell_most() -> None:
    """A slow host, or one far from its brokers, takes its time; and one busy moment says nothing."""
    model = PauseModel()
    for pause_ms in (50.0, 900.0, 52.0, 48.0):
        model = model.learn(pause_ms, "s", "a", "b", unread_changes=0)
    for pause_ms in (300.0, 310.0, 290.0):
        model = model.learn(pause_ms, "s", "edge", "b", unread_changes=0)
    assert 51.0 == model.predict("s", "a", "b", unread_changes=0)
    assert 300.0 == model.predict("s", "edge", "b", unread_changes=0)
    assert 300.0 == model.predict("t", "edge", "new", unread_changes=0), "one of the two is known"
    assert 290.0 == model.predict(None, None, None, unread_changes=0), "the middle of all"


def test_moves_of_the_same_segment_between_the_same_hosts_tell_most_of_all() -> None:
    """State on disk, or a function that takes its time, are a segment's own; small ones beside it say nothing of it."""
    model = PauseModel()
    for pause_ms in (50.0, 52.0, 48.0):
        model = model.learn(400.0, "large", "a", "b", unread_changes=0)
        model = model.learn(pause_ms, "small", "a", "b", unread_changes=0)
    assert 400.0 == model.predict("large", "a", "b", unread_changes=0)
    assert 50.0 == model.predict("small", "a", "b", unread_changes=0)
    assert 400.0 == model.predict("large", "c", "d", unread_changes=0), "elsewhere, too, where nothing else is known"


def test_the_past_is_forgotten() -> None:
    """A machine that has become slower is believed after a few moves."""
    model = PauseModel(PauseParams(newest=3, enough=1, remembered=4))
    for pause_ms in (50.0, 50.0, 50.0, 200.0, 210.0):
        model = model.learn(pause_ms, "s", "a", "b", unread_changes=0)
    assert (4, 200.0) == (len(model.seen), model.predict("s", "a", "b", unread_changes=0))
