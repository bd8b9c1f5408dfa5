"""What a task measures: sums for the models, once a batch."""

import asyncio
from types import SimpleNamespace

import pytest

from services.host import meter as meter_module
from services.host.edge_headers import born_header, read_born
from services.host.meter import LATENCIES_MAX, Meter, Work


class Clock:
    """Seconds that only the test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(meter_module, "time", clock)
    return clock


def test_arrivals_gaps_service_and_outputs_are_summed_per_operator(clock: Clock) -> None:
    """The queueing model is made of just these."""
    meter = Meter("shop", "shop.1", 0, first="large")
    for pause_s in (0.0, 1.0):
        clock.now_s += pause_s
        meter.begun()
        clock.now_s += 0.010
        meter.probe("large", 10, 4)
    (row,) = meter.report("a", 7, lag=3, state_bytes={"large": 9}, bytes_out=11)
    assert (20, 8, 3, 9, 11) == (row.arrivals, row.outputs, row.lag, row.state_bytes, row.bytes_out)
    assert (20, pytest.approx(20_000)) == (row.service_us.count, row.service_us.sum)
    assert (10, pytest.approx(1.010e6)) == (row.gaps_us.count, row.gaps_us.sum)
    assert 8 == pytest.approx(row.batch.sum)


def test_state_is_each_operators_own_and_told_before_anything_comes(clock: Clock) -> None:
    """That of the whole task stood on each of its operators: a filter seemed to remember what the count behind it does.
    A task that goes on with a million entries must not seem to have none until one of them changes."""
    meter = Meter("shop", "shop.1", 0, first="large")
    sizes = {"counts": 9_000, "pairs": 500, "ranks": 0}
    told = [meter.report("a", second, lag=0, state_bytes=sizes, bytes_out=0) for second in (7, 8)]
    assert [{"counts": 9_000, "pairs": 500}, {}] == [{row.operator: row.state_bytes for row in rows} for rows in told]
    meter.begun()
    meter.probe("large", 10, 0)
    rows = meter.report("a", 9, lag=0, state_bytes=sizes, bytes_out=0)
    assert {"counts": 9_000, "large": 0, "pairs": 500} == {row.operator: row.state_bytes for row in rows}


def test_a_batch_in_slices_came_once(clock: Clock) -> None:
    """Else the first slice would have waited for all, the others for nothing: bursts where there are none."""
    told = []
    for slices in ((100,), (50, 30, 20)):
        meter = Meter("shop", "shop.1", 0, first="large")
        for _ in range(3):
            meter.begun()
            for came_in in slices:
                clock.now_s += 0.001 * came_in
                meter.probe("large", came_in, came_in)
                meter.resumed()
            clock.now_s += 0.9
        (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
        told.append((row.gaps_us.count, row.gaps_us.sum, row.gaps_us.sum_sq))
    whole, sliced = told
    assert whole == pytest.approx(sliced)


def test_a_batch_that_is_reported_in_the_middle_came_once(clock: Clock) -> None:
    """Each part of it was an arrival of its own, right behind the one before: a burst whenever a second ended."""
    meter = Meter("shop", "shop.1", 0, first="large")
    gaps = [0, 0.0]
    for second in range(3):
        meter.begun()
        for came_in in (60, 40):
            clock.now_s += 0.001
            meter.probe("large", came_in, came_in)
            meter.resumed()
            (row,) = meter.report("a", second, lag=0, state_bytes={}, bytes_out=0)
            gaps = [gaps[0] + row.gaps_us.count, gaps[1] + row.gaps_us.sum]
        clock.now_s += 0.998
    assert [200, pytest.approx(2e6)] == gaps


def test_what_another_thread_notes_counts_when_it_is_back(clock: Clock) -> None:
    """Operators took as long as they did there, however late that is told here."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.begun()
    for name, took_s in (("large", 0.010), ("score", 0.300)):
        clock.now_s += took_s
        meter.note(name, 10, 10)
    clock.now_s += 5.0
    assert {0} == {row.arrivals for row in meter.report("a", 7, lag=1, state_bytes={}, bytes_out=0)}
    meter.came_back()
    rows = meter.report("a", 8, lag=1, state_bytes={}, bytes_out=0)
    told = {row.operator: (row.arrivals, row.service_us.sum) for row in rows}
    assert {"large": (10, pytest.approx(10_000)), "score": (10, pytest.approx(300_000))} == told


def test_what_did_not_reach_the_operators_is_counted_once(clock: Clock) -> None:
    """Set aside here, or dropped because another reader of the source sets it aside. Who adds rows up, adds it once."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.set_aside(late=1, dropped=2, dead_letters=3)
    meter.committed()
    rows = []
    for second in (7, 8):
        meter.probe("count", 1, 1)
        meter.probe("large", 1, 1)
        rows += meter.report("a", second, lag=0, state_bytes={}, bytes_out=0)
    told = {(row.second, row.operator): (row.late, row.dropped, row.dead_letters) for row in rows}
    assert {(7, "count"): (0, 0, 0), (7, "large"): (1, 2, 3), (8, "count"): (0, 0, 0), (8, "large"): (0, 0, 0)} == told


@pytest.mark.parametrize("worked", [(), ("count",)])
def test_a_dead_letter_is_told_also_when_its_operator_had_nothing_to_do(clock: Clock, worked: tuple[str, ...]) -> None:
    """A poison record alone in its second gives an empty batch; it must not vanish."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.set_aside(dead_letters=1)
    meter.committed()
    meter.bytes_in = 7
    for name in worked:
        meter.probe(name, 1, 1)
    rows = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    assert [*worked, "large"] == [row.operator for row in rows]
    assert [*(0 for _ in worked), 1] == [row.dead_letters for row in rows]
    assert {7} == {row.bytes_in for row in rows}
    assert [] == meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)


def test_a_task_that_is_stuck_tells_its_lag(clock: Clock) -> None:
    """Nothing is handled, and that is the news. A task that works has rows, which all tell it."""
    meter = Meter("shop", "shop.1", 0, first="large")
    (row,) = meter.report("a", 7, lag=12, state_bytes={}, bytes_out=0)
    assert ("large", 12, 0, 0) == (row.operator, row.lag, row.arrivals, row.service_us.count)
    meter.probe("count", 1, 1)
    assert ["count"] == [row.operator for row in meter.report("a", 8, lag=12, state_bytes={}, bytes_out=0)]


def test_bytes_of_a_second_without_rows_are_told_with_the_next(clock: Clock) -> None:
    """Blocks that only tell how far time has come are bytes, too."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.bytes_in = 40
    assert [] == meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    meter.probe("large", 1, 1)
    assert [40] == [row.bytes_in for row in meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)]


def test_a_report_starts_anew_but_gaps_reach_over_it(clock: Clock) -> None:
    """A gap between two reports is a gap like any other."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.begun()
    meter.probe("large", 1, 1)
    meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    assert [] == meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)
    clock.now_s += 2.0
    meter.begun()
    meter.probe("large", 1, 1)
    (row,) = meter.report("a", 9, lag=0, state_bytes={}, bytes_out=0)
    assert (1, pytest.approx(2e6)) == (row.gaps_us.count, row.gaps_us.sum)


def test_waits_come_from_the_records_and_bytes_from_who_read_them(clock: Clock) -> None:
    """A record waits from when the broker got it."""
    meter = Meter("shop", "shop.1", 0, first="large")
    records = [SimpleNamespace(value=b"12345", timestamp=1_000), SimpleNamespace(value=None, timestamp=1_000)]
    meter.fetched(records, now_ms=1_020)
    meter.bytes_in += 5
    meter.begun()
    meter.probe("large", 2, 2)
    (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    assert (5, 2, pytest.approx(40_000)) == (row.bytes_in, row.wait_us.count, row.wait_us.sum)


def test_waits_are_those_of_all_records_of_a_batch(clock: Clock) -> None:
    """All had the wait of the last, who waited for the shortest: the longer a queue, the more was missing."""
    meter = Meter("shop", "shop.1", 0, first="large")
    records = [SimpleNamespace(timestamp=1_000 + k) for k in range(101)]
    meter.fetched(records, now_ms=1_100)
    meter.fetched([SimpleNamespace(timestamp=2_000)], now_ms=1_990)  # by a clock that is ahead
    meter.probe("large", 102, 102)
    (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    waits_us = [(1_100 - record.timestamp) * 1e3 for record in records]
    assert (102, pytest.approx(sum(waits_us))) == (row.wait_us.count, row.wait_us.sum)
    assert row.wait_us.sum_sq == pytest.approx(sum(each * each for each in waits_us), rel=0.01)


def test_latency_samples_are_bounded_and_taken_once(clock: Clock) -> None:
    """However many batches a second has, a row stays small."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.begun()
    meter.probe("large", 1, 1)
    for _ in range(3 * LATENCIES_MAX):
        meter.finished(25.0)
    (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    assert row.latency_ms is not None
    assert (LATENCIES_MAX, 25.0) == (row.latency_ms.count, row.latency_ms.max)
    meter.probe("large", 1, 1)
    assert meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)[0].latency_ms is None


def test_what_results_wait_to_be_written_belongs_to_their_latency(clock: Clock) -> None:
    """The first record of a transaction waits for brokers in other cities. The bare way to the sink the model knows."""

    async def story() -> None:
        meter = Meter("shop", "shop.1", 0, first="large")
        meter.begun()
        meter.probe("large", 3, 3)
        for took_s in (0.010, 0.150, 0.012):
            written: asyncio.Future[None] = asyncio.Future()
            meter.finished(25.0, written)
            clock.now_s += took_s
            written.set_result(None)
            await asyncio.sleep(0)
        (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
        assert row.latency_ms is not None
        assert (3, 25.0, pytest.approx(25.0 + 140.0)) == (row.latency_ms.count, row.latency_ms.min, row.latency_ms.max)
        assert pytest.approx(25.0 + 165.0 + 27.0) == row.latency_ms.sum

    asyncio.run(story())


def test_results_that_are_hidden_until_their_commit_count_from_then_on(clock: Clock) -> None:
    """A reader of committed records waits for it, whenever the broker has got them. The way there the model knows."""

    async def story() -> None:
        meter = Meter("shop", "shop.1", 0, first="large")
        meter.probe("large", 2, 2)
        written: asyncio.Future[None] = asyncio.Future()
        meter.finished(25.0, written, is_hidden=True)
        clock.now_s += 0.010
        written.set_result(None)
        await asyncio.sleep(0)
        meter.finished(30.0, is_hidden=True)
        assert meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)[0].latency_ms is None
        clock.now_s += 0.060
        meter.committed()
        meter.committed()
        meter.probe("large", 1, 1)
        (row,) = meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)
        assert row.latency_ms is not None
        assert (2, pytest.approx(25.0 + 60.0 + 30.0 + 50.0)) == (row.latency_ms.count, row.latency_ms.sum)

    asyncio.run(story())


def test_what_waits_for_a_commit_is_bounded(clock: Clock) -> None:
    """However long a broker is away."""
    meter = Meter("shop", "shop.1", 0, first="large")
    for _ in range(3 * LATENCIES_MAX):
        meter.finished(25.0, is_hidden=True)
    assert LATENCIES_MAX == len(meter._uncommitted)


def test_results_that_were_never_written_have_no_latency(clock: Clock) -> None:
    """Whoever does them again tells it."""

    async def story() -> None:
        meter = Meter("shop", "shop.1", 0, first="large")
        meter.probe("large", 2, 2)
        lost: asyncio.Future[None] = asyncio.Future()
        failed: asyncio.Future[None] = asyncio.Future()
        for written in (lost, failed):
            meter.finished(25.0, written)
        lost.cancel()
        failed.set_exception(ConnectionError())
        await asyncio.sleep(0)
        assert meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)[0].latency_ms is None

    asyncio.run(story())


def test_a_latency_of_a_second_in_which_nothing_came_is_told_with_the_next(clock: Clock) -> None:
    """Of a thin flow just the results that waited longest would be missing."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.finished(125.0)
    assert [] == meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    meter.probe("large", 1, 1)
    (row,) = meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)
    assert row.latency_ms is not None
    assert 125.0 == row.latency_ms.sum


@pytest.mark.parametrize("headers", [[], [("other", b"1")], [("stig-born-ms", None)], [("stig-born-ms", b"-1")]])
def test_a_block_without_a_birth_is_no_sample(headers: list) -> None:
    """Blocks that only tell the watermark have none."""
    assert read_born(headers) is None


def test_a_birth_survives_the_way() -> None:
    """Downstream segments measure from the source, not from the edge."""
    assert 1_700_000_000_123 == read_born([("a", b"b"), *born_header(1_700_000_000_123)])
    assert [] == born_header(None)


def test_what_is_never_committed_is_counted_nowhere(clock: Clock) -> None:
    """A function that fails on everything is tried again and again: each try would add its dead letters anew."""
    meter = Meter("shop", "shop.1", 0, first="large")
    meter.probe("large", 10, 4)
    meter.set_aside(late=1, dead_letters=3)
    (row,) = meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
    assert (10, 0, 0) == (row.arrivals, row.late, row.dead_letters), "it was work all the same, as models count it"
    assert {} == meter.take_done()
    meter.committed()
    (row,) = meter.report("a", 8, lag=0, state_bytes={}, bytes_out=0)
    assert (0, 1, 3) == (row.arrivals, row.late, row.dead_letters)
    assert {("shop", "large", 0): Work(10, 4, late=1, dead_letters=3)} == meter.take_done()
    assert {} == meter.take_done()
    assert [] == meter.report("a", 9, lag=0, state_bytes={}, bytes_out=0)
