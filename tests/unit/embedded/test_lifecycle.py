"""The decisions about one supervised process, without any process."""

import pytest

from services.embedded.lifecycle import Event, Life, RestartPolicy, State, is_due, step

POLICY = RestartPolicy(first_delay_s=1.0, factor=2.0, delay_s_max=5.0, forgiven_after_s=60.0, failures_max=3)


def live(*events: tuple[Event, float], life: Life | None = None) -> Life:
    life = life or Life()
    for event, now_s in events:
        life = step(life, event, POLICY, now_s=now_s)
    return life


READY = live((Event.LAUNCHED, 0.0), (Event.ANSWERED, 1.0))


def test_a_process_that_ends_before_it_was_ever_ready_has_failed() -> None:
    """It is set up wrongly; trying again would only hide its message."""
    assert State.FAILED is live((Event.LAUNCHED, 0.0), (Event.EXITED, 1.0)).state


def test_a_process_that_was_ready_is_started_again_after_a_delay() -> None:
    """A crash heals, but not in a tight loop."""
    down = live((Event.EXITED, 10.0), life=READY)
    assert State.BACKING_OFF is down.state
    assert not is_due(down, POLICY, now_s=10.9)
    assert is_due(down, POLICY, now_s=11.0)


def test_the_delay_doubles_up_to_its_maximum() -> None:
    """So that a broken process costs less and less."""
    assert [1.0, 2.0, 4.0, 5.0, 5.0] == [POLICY.delay_s(failures) for failures in range(1, 6)]


def test_too_many_failures_in_a_row_are_the_end() -> None:
    """Every retry has a maximum."""
    life = READY
    for now_s in (2.0, 3.0, 4.0):
        life = live((Event.EXITED, now_s), life=life)
        assert State.BACKING_OFF is life.state
        life = live((Event.LAUNCHED, now_s), life=life)
    assert State.FAILED is live((Event.EXITED, 5.0), life=life).state


def test_staying_up_for_long_forgives_earlier_failures() -> None:
    """A broker killed once a day for a month is no broken broker."""
    life = live((Event.EXITED, 2.0), (Event.LAUNCHED, 3.0), (Event.EXITED, 4.0), (Event.LAUNCHED, 6.0), life=READY)
    assert 2 == life.failures
    life = live((Event.ANSWERED, 7.0), (Event.EXITED, 67.0), life=life)
    assert 1 == life.failures


def test_restarts_are_counted() -> None:
    """They are shown to the user."""
    assert 0 == READY.restarts
    assert 1 == live((Event.EXITED, 2.0), (Event.LAUNCHED, 3.0), life=READY).restarts


@pytest.mark.parametrize("state", [State.WAITING, State.BACKING_OFF, State.FAILED])
def test_what_does_not_run_stops_at_once(state: State) -> None:
    """There is no process whose end could be waited for."""
    assert State.STOPPED is step(Life(state=state), Event.STOP_ASKED, POLICY, now_s=0.0).state


@pytest.mark.parametrize("state", [State.STARTING, State.READY])
def test_what_runs_is_stopping_until_it_has_ended(state: State) -> None:
    """Only then may its port be used again."""
    stopping = step(Life(state=state), Event.STOP_ASKED, POLICY, now_s=0.0)
    assert State.STOPPING is stopping.state
    assert State.STOPPED is step(stopping, Event.EXITED, POLICY, now_s=1.0).state


def test_an_event_that_cannot_happen_is_our_bug() -> None:
    """It is told with the life that met it."""
    with pytest.raises(AssertionError, match="answered in Life"):
        live((Event.ANSWERED, 0.0))
