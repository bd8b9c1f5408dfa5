"""Which moves may begin, and how long they are expected to pause."""

from dataclasses import replace

from placement.moves import Allowance, Move, PauseModel, PauseParams, Phase, ScheduleParams, schedule

NOW_MS = 10_000_000
PARAMS = ScheduleParams(parallel_max=3, parallel_per_host_max=2)


def move(
    number: int, phase: Phase = Phase.PROPOSED, *, origin: str = "a", target: str = "b", partition: int = -1
) -> Move:
    partition = number if partition < 0 else partition
    return Move(f"m{number}", "f", "f.s", partition, origin, target, 1, phase, NOW_MS + number, NOW_MS, "test")


def rulings(
    moves: list[Move], *, budget_ms: float | None = None, predicted_ms: float = 60.0
) -> dict[str, tuple[str, str]]:
    predictions = {each.id: predicted_ms for each in moves}
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


def test_the_prediction_follows_what_was_measured() -> None:
    """The first measurement replaces what was assumed; sizes count apart from it."""
    model = PauseModel(PauseParams(takeover_ms=80, restore_per_s=100_000, drain_per_s=50_000, weight=0.5))
    assert 80 + 10 + 4 == model.predict(unread_changes=1_000, waiting_records=200)
    model = model.learn(54.0, unread_changes=1_000, waiting_records=200)
    assert 40 == model.predict(unread_changes=0, waiting_records=0)
    model = model.learn(60.0, unread_changes=0, waiting_records=0)
    assert 50 == model.predict(unread_changes=0, waiting_records=0)
