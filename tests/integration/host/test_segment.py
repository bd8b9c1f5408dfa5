"""Segments on a real broker: nothing lost, nothing doubled, whatever is stopped, fenced or broken in between."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.errors import KafkaTimeoutError

from services.host import commit_times, segment_plan, snapshot
from services.host.segment import Segment
from services.host.task import Task
from services.host.writer import WriteError, Writer, WriterParams
from topics.names import dead_letter_topic, late_topic

STATELESS = """
flow: {flow}
sources:
  packets: {{topic: {source}, event_time: ts}}
operators:
  tcp: {{op: filter, input: packets, where: "proto == 'tcp'"}}
  slim: {{op: project, input: tcp, fields: [n, ts]}}
sinks:
  out: {{input: slim, topic: {sink}}}
"""

COUNTS = """
flow: {flow}
delivery: {delivery}
sources:
  packets: {{topic: {source}, event_time: ts, partitions: 2, lateness: 1s, idle: 10m}}
operators:
  counted: {{op: aggregate, input: packets, by: [src], window: {{size: 1s}}, emit: {{n: count(), total: sum(bytes)}}}}
sinks:
  out: {{input: counted, topic: {sink}}}
"""


def packets(count: int) -> list[dict[str, Any]]:
    """Two sources of packets on each partition, a record each 10 ms, every third not tcp."""
    return [
        {
            "n": i,
            "src": f"s{i % 4}",
            "proto": "udp" if i % 3 == 0 else "tcp",
            "bytes": i,
            "ts": 1_700_000_000_000 + 10 * i,
        }
        for i in range(count)
    ]


def counted(delivery: str) -> str:
    return COUNTS.replace("{delivery}", delivery)


def commits(segment: Segment) -> list[int]:
    """How many commits of each of its two tasks have ended, with the one at its start."""
    tasks = segment.tasks()
    return [len(tasks[each]._commit_times._took_s) if each in tasks else 0 for each in (0, 1)]


def closed_windows(values: list[dict[str, Any]]) -> Counter[tuple[str, int, int, int]]:
    """Slow and obvious: the windows of one second that a watermark of the last record minus one second has closed.

    The flow re-keys by `src`, so a window closes when every upstream partition has passed it.
    """
    passed = min(max(v["ts"] for v in values if v["n"] % 2 == p) for p in (0, 1)) - 1_000
    windows: dict[tuple[str, int], list[int]] = {}
    for value in values:
        windows.setdefault((value["src"], value["ts"] // 1_000 * 1_000), []).append(value["bytes"])
    return Counter(
        (src, start, len(sizes), sum(sizes)) for (src, start), sizes in windows.items() if start + 1_000 <= passed
    )


def as_windows(rows: list[tuple[bytes | None, Any]]) -> Counter[tuple[str, int, int, int]]:
    return Counter((value["src"], value["window_start"], value["n"], value["total"]) for _, value in rows)


async def write_and_commit(writer: Writer, topic: str, group: str) -> None:
    await writer.write(topic, 0, [None], [b'{"n": 2}'], [0])
    await writer.commit(group, {})


def test_every_record_arrives_once_and_in_order(bench: Callable[..., Any]) -> None:
    """The plain case, over two partitions, with a stop and a new start in the middle."""

    async def story() -> None:
        flow = bench(STATELESS)
        values = packets(2_000)
        await flow.begin()
        await flow.send(values[:1_000])
        await flow.until(lambda rows: len(rows) >= 600)
        await flow.stop()
        await flow.send(values[1_000:])
        await flow.begin(epoch=2)
        expected = [value["n"] for value in values if value["proto"] == "tcp"]
        rows = await flow.until(lambda rows: len(rows) >= len(expected))
        await flow.stop()
        assert Counter(expected) == Counter(value["n"] for _, value in rows)
        for partition in (0, 1):
            mine = [value["n"] for _, value in rows if value["n"] % 2 == partition]
            assert sorted(mine) == mine

    asyncio.run(story())


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_windows_over_a_rekey_match_the_oracle_across_restarts(bench: Callable[..., Any], delivery: str) -> None:
    """State, watermarks and blocks on the edge survive a stop and a crash without a trace in the results."""

    async def story() -> None:
        flow = bench(counted(delivery))
        values = packets(3_000)
        assert 2 == len(flow.graph.segments)
        for part, how in ((values[:1_000], "stop"), (values[1_000:2_000], "crash"), (values[2_000:], "stop")):
            segments = await flow.begin()
            await flow.send(part)
            sent = values[: part[-1]["n"] + 1]
            expected = closed_windows(sent)
            rows = await flow.until(
                lambda rows, expected=expected: sum(as_windows(rows).values()) >= sum(expected.values())
            )
            assert expected == as_windows(rows)
            if how == "crash":
                for segment in segments:
                    for seat in segment.seats.values():
                        seat.task.fail(RuntimeError("pulled the plug"))
            await flow.stop()

    asyncio.run(story())


def test_results_and_time_do_not_wait_for_rare_commits(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where commits are slow they are rare; all windows must close meanwhile, also where only news of the time come."""
    monkeypatch.setattr(commit_times, "TAKEN_SHARE_MAX", 1e-9)
    monkeypatch.setattr(commit_times, "COMMITS", 1)
    monkeypatch.setattr(segment_plan, "STRETCHED_S_MAX", 100.0)
    patient, init = WriterParams(transaction_timeout_ms=120_000), Writer.__init__
    monkeypatch.setattr(Writer, "__init__", lambda self, bootstrap, name, _params: init(self, bootstrap, name, patient))

    async def story() -> None:
        flow = bench(counted("at_least_once"))
        segments = await flow.begin()
        values = [value | {"src": f"s{value['n'] % 20}"} for value in packets(400)]
        # The last ones go to a single partition of the edge; the others hear of their time by news.
        last = [value | {"src": "s0", "ts": value["ts"] + 60_000} for value in packets(402)[400:]]
        expected = closed_windows(values + last)
        try:
            async with asyncio.timeout(60):
                while not all(each == 1 for segment in segments for each in commits(segment)):
                    await asyncio.sleep(0.05)
                for sent, closed in ((values, closed_windows(values)), (last, expected)):
                    await flow.send(sent)
                    while as_windows(await flow.read(flow.sink, committed=False)) != closed:
                        await asyncio.sleep(0.05)
            assert all(each == 1 for segment in segments for each in commits(segment)), "before any other commit"
        finally:
            await flow.stop()
        await flow.until(lambda rows: as_windows(rows) == expected)

    asyncio.run(story())


def test_broken_records_go_to_the_dead_letters_and_the_rest_goes_on(bench: Callable[..., Any]) -> None:
    """A poison record must neither stop the flow nor vanish."""

    async def story() -> None:
        flow = bench(STATELESS)
        values: list[Any] = packets(100)
        broken = {7: b"{not json", 20: b"[1, 2]", 33: b'{"n": 33, "proto": "tcp"}'}
        for at, raw in broken.items():
            values[at] = raw
        await flow.begin()
        await flow.send(values)
        good = [value["n"] for value in values if isinstance(value, dict) and value["proto"] == "tcp"]
        rows = await flow.until(lambda rows: len(rows) >= len(good))
        await flow.stop()
        assert Counter(good) == Counter(value["n"] for _, value in rows)
        letters = [letter for _, letter in await flow.read(dead_letter_topic(flow.graph.spec.name))]
        assert {(at % 2, at // 2) for at in broken} == {
            (letter["origin"]["partition"], letter["origin"]["offset"]) for letter in letters
        }
        assert {"packets"} == {letter["operator"] for letter in letters}
        assert all(letter["error"] for letter in letters)

    asyncio.run(story())


def test_late_records_go_to_the_late_topic(bench: Callable[..., Any]) -> None:
    """A record that comes after its window closed is set aside, not dropped."""

    async def story() -> None:
        flow = bench(counted("at_least_once"), partitions=1)
        values = packets(600)
        late = {"n": -1, "src": "s0", "proto": "tcp", "bytes": 1, "ts": values[0]["ts"]}
        await flow.begin()
        await flow.send([*values, late])
        await flow.until(lambda rows: len(rows) > 0)
        rows = []
        while not rows:
            rows = await flow.read(late_topic(flow.graph.spec.name))
        await flow.stop()
        assert [late["ts"]] == [row["event_time_ms"] for _, row in rows]
        assert [late] == [row["value"] for _, row in rows]

    asyncio.run(story())


def test_a_former_owner_cannot_write_any_more(bench: Callable[..., Any], topic: Callable[..., str]) -> None:
    """A host that was frozen and wakes up must not write to a sink that has a new owner."""

    async def story() -> None:
        flow = bench(STATELESS)
        plan = flow.plans()[0]
        former = Writer(flow.bootstrap, plan.transactional_id(0))
        await former.fence()
        await former.write(flow.sink, 0, [None], [b'{"n": 1}'], [0])
        successor = Writer(flow.bootstrap, plan.transactional_id(0))
        await successor.fence()
        with pytest.raises(WriteError):
            await write_and_commit(former, flow.sink, plan.group)
        await former.stop()
        await successor.stop()
        assert [] == await flow.read(flow.sink)

    asyncio.run(story())


def test_state_comes_back_from_a_snapshot_and_the_changes_after_it(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recovery reads the snapshot's pieces, and of the changelog only what came after it began."""
    monkeypatch.setattr(snapshot, "CHANGES_MIN", 10)
    monkeypatch.setattr(snapshot, "PIECE_ENTRIES", 2)

    async def story() -> None:
        flow = bench(counted("exactly_once"))
        values = packets(3_000)
        places = []
        for first in range(0, 3_000, 1_000):
            await flow.begin()
            for last in range(first + 200, first + 1_001, 200):  # each part is committed before the next is sent
                await flow.send(values[last - 200 : last])
                expected = closed_windows(values[:last])
                rows = await flow.until(lambda rows, expected=expected: len(rows) >= sum(expected.values()))
                assert expected == as_windows(rows)
            seats = [seat for segment in flow.segments for seat in segment.seats.values()]
            places += [seat.task._progress._snapshots.place for seat in seats]
            await flow.stop()
        assert any(place is not None for place in places)

    asyncio.run(story())


def test_a_standby_takes_over_with_what_it_has_followed(bench: Callable[..., Any]) -> None:
    """The new owner must not read the whole changelog again: that is what makes a move's pause short."""

    async def story() -> None:
        flow = bench(counted("exactly_once"))
        values = packets(3_000)
        owners = await flow.begin()
        await flow.send(values[:2_000])
        expected = closed_windows(values[:2_000])
        await flow.until(lambda rows: sum(as_windows(rows).values()) >= sum(expected.values()))
        stateful = owners[-1]
        standby = flow.segment(stateful.plan)
        await standby.begin()
        for partition in stateful.seats:
            await standby.stand_by(partition)
        assert tuple(stateful.seats) == standby.standbys
        await flow.followed(standby, stateful)
        followed = {partition: each.memory for partition, each in standby.followed().items()}
        read_before = {partition: memory.entries_read for partition, memory in followed.items()}
        for partition in tuple(stateful.seats):
            await stateful.release(partition)
            await standby.own(partition, 2)
        await flow.send(values[2_000:])
        expected = closed_windows(values)
        rows = await flow.until(lambda rows: sum(as_windows(rows).values()) >= sum(expected.values()))
        assert expected == as_windows(rows)
        assert all(memory.entries_read < read_before[p] + 20 for p, memory in followed.items())
        assert any(read_before.values())
        await flow.stop()

    asyncio.run(story())


def test_a_task_that_can_neither_begin_nor_end_well_is_tried_again(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage both may fail; the seat must not fall silent for that."""
    failing = {"recover": 2, "close": 2}  # once for each partition

    def fails_at_first(name: str) -> None:
        real = getattr(Task, name)

        async def at_first(task: Task, *arguments: Any) -> Any:
            done = await real(task, *arguments)
            if failing[name] > 0:
                failing[name] -= 1
                raise KafkaTimeoutError(f"no {name} now")
            return done

        monkeypatch.setattr(Task, name, at_first)

    async def story() -> None:
        flow = bench(STATELESS)
        values = packets(100)
        fails_at_first("recover")
        fails_at_first("close")
        await flow.begin()
        await flow.send(values)
        expected = [value["n"] for value in values if value["proto"] == "tcp"]
        await flow.until(lambda rows: len(rows) >= len(expected))
        await flow.stop()
        assert {"recover": 0, "close": 0} == failing

    asyncio.run(story())


def test_what_tasks_have_measured_outlives_them(bench: Callable[..., Any]) -> None:
    """Somebody reports once a second, and a task may end at any moment between."""
    made = bench(STATELESS)

    async def story() -> None:
        (segment,) = await made.begin()
        await made.send(packets(300))
        await made.until(lambda rows: len(rows) >= 200)
        for partition in (0, 1):
            await segment.release(partition)
        rows = [row for each in segment.last_reports for row in each.rows("a", 7)]
        assert 300 == sum(row.arrivals for row in rows if row.operator == "tcp")
        done = [each.meter.take_done() for each in segment.last_reports]
        assert 300 == sum(work.arrivals for each in done for (_, name, _), work in each.items() if name == "tcp")
        await made.stop()

    asyncio.run(story())
