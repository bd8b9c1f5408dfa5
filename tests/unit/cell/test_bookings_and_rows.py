"""What a cell has promised against what the registry says; and what operators' rows amount to."""

import pytest

from placement.ants.enforcement import Release
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.model import Flow, Sink, Source, Task, chain
from placement.queueing import Load
from services.host.cell.bookings import book, ended_here, is_missing
from services.host.cell.rows import KEPT_S, RecentRows, load_of_rows
from tests.unit.registry_messages import committed_plan
from topics.messages import CommittedPlan, FlowRevision, Moments, OperatorMetrics

FLOW: Flow = chain(
    "talk", Source("in", "a", 0.1), (Task("talk.1", 1.0), Task("talk.2", 2.0)), Sink("out", "b"), latency_bound_ms=500
)


def cell() -> Cell:
    return Cell("mid", 2.0, {}, IMPROVED, delay=lambda a, b: 1.0, direct=True)


def plan(epoch: int, **hosts: str) -> CommittedPlan:
    return committed_plan("talk", {name.replace("_", "."): host for name, host in hosts.items()}, epoch=epoch)


def revision(state: str = "submitted") -> FlowRevision:
    return FlowRevision(
        flow="talk",
        revision=1,
        state=state,
        text="t",
        delivery="at_least_once",
        changed_ms=1,  # type: ignore[arg-type]
    )


def booked(at: Cell, epoch: int, state: State = State.ACTIVE) -> None:
    at.ledger.reserve(Booking("talk", epoch, 1, Load(rho=0.1), State.RESERVED, 1e9))
    at.ledger.commit("talk", epoch, expires_ms=1e9)
    if state is State.ACTIVE:
        at.ledger.activate("talk", epoch)


@pytest.mark.parametrize(
    ("flows", "plans", "ended"),
    [
        ({}, {}, [Release("talk", 3)]),
        ({"talk": revision("withdrawn")}, {"talk": plan(3, talk_1="mid")}, [Release("talk", 3)]),
        ({"talk": revision()}, {}, []),
        ({"talk": revision()}, {"talk": plan(3, talk_1="mid")}, []),
        ({"talk": revision()}, {"talk": plan(4, talk_1="mid")}, [Release("talk", 3)]),
        ({"talk": revision()}, {"talk": plan(4, talk_1="b")}, [Release("talk", 4)]),
        ({"talk": revision()}, {"talk": plan(2, talk_1="b")}, []),
    ],
)
def test_promises_end_when_the_registry_says_so(flows: dict, plans: dict, ended: list[Release]) -> None:
    """A leader's word may be lost; the registry's is not. A plan that is not there yet ends nothing."""
    at = cell()
    booked(at, 3)
    assert ended == ended_here(at, flows, plans)


def test_a_host_that_started_again_books_what_runs_there() -> None:
    """Else ants would take it for empty, and overload it."""
    at = cell()
    running = plan(5, talk_1="a", talk_2="mid")
    assert is_missing(at, running)
    book(at, running, FLOW)
    (booking,) = at.ledger.bookings()
    assert (5, 0b10, State.ACTIVE, "a") == (booking.epoch, booking.mask, booking.state, booking.home)
    assert 0.1 == pytest.approx(booking.load.rho)  # 0.1 a millisecond, 2 VWU each, capacity 2
    assert not is_missing(at, running)
    assert not is_missing(at, plan(6, talk_1="a", talk_2="b"))


def test_a_commitment_whose_activation_was_lost_is_missing() -> None:
    """It would run out after a minute although the plan runs."""
    at = cell()
    booked(at, 5, State.COMMITTED)
    assert is_missing(at, plan(5, talk_1="mid"))


def row(
    second: int,
    *,
    operator: str = "o",
    partition: int = 0,
    arrivals: int = 1_000,
    busy_us: float = 100_000.0,
    lag: int = 0,
) -> OperatorMetrics:
    none = Moments(count=0, sum=0.0, sum_sq=0.0)
    return OperatorMetrics(
        host="mid",
        flow="talk",
        segment="talk.1",
        operator=operator,
        partition=partition,
        second=second,
        arrivals=arrivals,
        gaps_us=none,
        batch=none,
        service_us=Moments(count=arrivals, sum=busy_us, sum_sq=1.0),
        wait_us=none,
        outputs=arrivals,
        lag=lag,
        bytes_in=1,
        bytes_out=1,
        state_bytes=0,
        late=0,
        dropped=0,
        dead_letters=0,
    )


def test_the_load_of_a_segment_counts_its_input_once_and_all_of_its_work() -> None:
    """Fused operators share one queue."""
    load = load_of_rows([row(1), row(1, operator="p", arrivals=500, busy_us=50_000.0)], capacity=2.0)
    assert 0.15 == pytest.approx(load.rho)
    assert 1.0 == pytest.approx(load.rate_per_ms)
    assert 0.0 == load_of_rows([row(1, arrivals=0, busy_us=0.0)], capacity=2.0).rho


def test_rates_are_taken_over_whole_seconds_and_old_ones_are_forgotten() -> None:
    """The newest second is still being told by some hosts."""
    rows = RecentRows()
    for second in range(100, 103):
        rows.add(row(second), second=second + 1)
    assert rows.measures("talk", {}) is None
    for second in range(103, 140):
        rows.add(row(second), second=second + 1)
    measures = rows.measures("talk", {})
    assert measures is not None
    assert KEPT_S == measures.span_s
    assert 1_000 * KEPT_S == measures.operator("o").arrivals
    rows.forget("talk")
    assert rows.measures("talk", {}) is None


def test_a_host_with_a_wrong_clock_does_not_spoil_what_others_measure() -> None:
    """It was an hour ahead: rates were over an hour's span, and after a move its rows stayed for one."""
    rows = RecentRows()
    for second in range(1_000, 1_030):
        rows.add(row(second, lag=50 * second), second=second + 1)
        rows.add(row(second + 3_600, partition=1), second=second + 1)
    both = rows.measures("talk", {})
    assert both is not None
    assert (KEPT_S, 2_000 * KEPT_S) == (both.span_s, both.operator("o").arrivals)
    for second in range(1_030, 1_050):
        rows.add(row(second, lag=50 * second), second=second + 1)
        rows.add(row(second, partition=1, lag=100 * second), second=second + 1)
    moved = rows.measures("talk", {})
    assert moved is not None
    assert (KEPT_S, 2_000 * KEPT_S) == (moved.span_s, moved.operator("o").arrivals)
    assert 150.0 == moved.segment("talk.1").lag_growth_per_s


def test_a_host_that_tells_late_loses_no_second() -> None:
    """Two of its seconds may come within one of the broker's, and the next one bring none."""
    rows = RecentRows()
    for second in range(100, 140):
        rows.add(row(second), second=second + 1 + second % 2)
    measures = rows.measures("talk", {})
    assert measures is not None
    assert (KEPT_S, 1_000 * KEPT_S) == (measures.span_s, measures.operator("o").arrivals)


def test_when_the_brokers_clock_is_set_back_measuring_begins_anew() -> None:
    """What came before is from the future now, and would stay for as long."""
    rows = RecentRows()
    for second in [*range(5_000, 5_020), *range(1_000, 1_020)]:
        rows.add(row(7_000), second=second)
    measures = rows.measures("talk", {})
    assert measures is not None
    assert (KEPT_S, 1_000 * KEPT_S) == (measures.span_s, measures.operator("o").arrivals)
