"""Whatever is measured, in whatever order: what is told of a flow stays between what was seen and what was said."""

from hypothesis import given
from hypothesis import strategies as st

from placement.excess import ExcessParams, RunningLatency

PARAMS = ExcessParams()

rows = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 3), st.lists(st.floats(0.0, 1e7), max_size=5)), max_size=60
)
modelled = st.floats(0.0, 1e4)


def told_ms(latency: RunningLatency, modelled_ms: float) -> float:
    return modelled_ms + latency.beyond(modelled_ms).ms


@given(rows, modelled)
def test_a_first_place_is_told_between_the_model_and_what_was_seen(measured, modelled_ms: float) -> None:
    """And never below nothing, nor by more beyond the model than a wait on the way can be."""
    latency = RunningLatency(PARAMS)
    for second, task, samples_ms in measured:
        latency.measured(second, task, samples_ms)
    seen = [modelled_ms, *(each for _, _, samples_ms in measured for each in samples_ms)]
    tolerance_ms = 1e-6 * (1 + max(seen))
    assert max(0.0, min(seen)) - tolerance_ms <= told_ms(latency, modelled_ms) <= max(seen) + tolerance_ms
    assert told_ms(latency, modelled_ms) <= modelled_ms + PARAMS.excess_ms_max + tolerance_ms


@given(rows, st.randoms(use_true_random=False))
def test_the_order_in_which_rows_of_the_same_seconds_come_does_not_matter(measured, chance) -> None:
    """Hosts tell at their own pace. (As long as nothing is forgotten, which the newest seconds decide.)"""
    told = {(second % PARAMS.seconds, task): samples_ms for second, task, samples_ms in measured}
    one, other = RunningLatency(PARAMS), RunningLatency(PARAMS)
    shuffled = sorted(told.items())
    chance.shuffle(shuffled)
    for latency, order in ((one, sorted(told.items())), (other, shuffled)):
        for (second, task), samples_ms in order:
            latency.measured(second, task, samples_ms)
    assert one.beyond(20.0) == other.beyond(20.0)


@given(rows, modelled, modelled, st.integers(1, 5))
def test_a_move_that_is_told_several_times_is_one_move(measured, here_ms: float, there_ms: float, times: int) -> None:
    """Every row from where the flow still runs tells of it."""
    once, often = RunningLatency(PARAMS), RunningLatency(PARAMS)
    for latency, count in ((once, 1), (often, times)):
        for second, task, samples_ms in measured:
            latency.measured(second, task, samples_ms)
        for _ in range(count):
            latency.moved(300, here_ms)
    assert once.beyond(there_ms) == often.beyond(there_ms)
