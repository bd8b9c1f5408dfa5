"""Flows over real host processes give what the oracle gives, whatever happens to the hosts."""

import json
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka import TopicPartition

from services.operators.encode import Encoded
from services.operators.run import FlowRun
from services.registry.changes import assigned, withdrawn
from services.registry.snapshot import read_registry, reader
from services.registry.view import Slot
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Placement

WINDOWS = """
flow: {flow}
qos: {latency_ms: 200}
delivery: exactly_once
sources:
  clicks: {topic: {source}, key: user, event_time: ts, lateness: 1s}
operators:
  real:   {op: filter, input: clicks, where: "size > 0"}
  totals: {op: aggregate, input: real, by: [page], window: {size: 10s}, emit: {n: count(), size: sum(size)}}
sinks:
  out: {input: totals, topic: {sink}, key: page}
"""

# A running count: each result says how many came before it, so a lost or doubled record shows in all that follow.
COUNTS = """
flow: {flow}
delivery: exactly_once
sources:
  clicks: {topic: {source}, key: user, event_time: ts, lateness: 1h}
operators:
  real:   {op: filter, input: clicks, where: "size > 0"}
  totals: {op: aggregate, input: real, by: [page], emit: {n: count(), size: sum(size)}}
sinks:
  out: {input: totals, topic: {sink}, key: page}
"""


def clicks(count: int, *, seed: int, first_ms: int = 1_700_000_000_000) -> list[dict]:
    """Records in the order of their event time, a few milliseconds apart."""
    rng = random.Random(seed)
    return [
        {
            "user": f"u{rng.randrange(40)}",
            "page": f"p{rng.randrange(7)}",
            "size": rng.randrange(-2, 9),
            "ts": first_ms + 5 * i,
        }
        for i in range(count)
    ]


def last_call(records: Sequence[dict]) -> list[dict]:
    """One record for each of many users, much later: every partition's time moves past all windows before."""
    end_ms = records[-1]["ts"] + 60_000
    return [{"user": f"u{i}", "page": "end", "size": 1, "ts": end_ms} for i in range(40)]


def oracle(text: str, records: Sequence[dict]) -> list[dict]:
    """What the flow gives in one process without Kafka."""
    results: list[dict] = []

    def deliver(_sink: str, encoded: Encoded) -> None:
        results.extend(json.loads(value) for value in encoded.values if value is not None)

    graph = parse_graph(text)
    run = FlowRun(graph, deliver)
    run.feed(graph.spec.sources[0].name, [json.dumps(record).encode() for record in records], now_ms=0)
    return results


def as_texts(results: Sequence[dict]) -> Counter[str]:
    return Counter(json.dumps(result, sort_keys=True) for result in results)


def counts_of(results: Sequence[dict]) -> dict[str, list[int]]:
    """The running counts of each page, in the order of the sink."""
    found: dict[str, list[int]] = defaultdict(list)
    for result in results:
        found[result["page"]].append(result["n"])
    return dict(found)


def expect_counts(records: Sequence[dict], results: Sequence[dict]) -> None:
    """Each page is counted 1, 2, 3... without a gap or a repetition, and the sums are right at the end."""
    real = [record for record in records if record["size"] > 0]
    pages = Counter(record["page"] for record in real)
    assert {page: list(range(1, count + 1)) for page, count in pages.items()} == counts_of(results)
    sizes = {page: sum(record["size"] for record in real if record["page"] == page) for page in pages}
    assert sizes == {result["page"]: result["size"] for result in results if result["n"] == pages[result["page"]]}


def wanted_results(records: Sequence[dict]) -> int:
    return sum(record["size"] > 0 for record in records)


def move(flow: Any, slots: Iterable[Slot], host: str, *, standbys: Sequence[str] = ()) -> dict[Slot, Placement]:
    """Gives slots to a host by the registry, as `stigmergy assign --no-wait` does, and waits until they run there."""
    view = read_registry(flow.bootstrap)
    now_ms = time.time_ns() // 1_000_000
    moved = {slot: assigned(view, slot, host, now_ms=now_ms, standbys=standbys) for slot in slots}
    flow.write(*((catalogue.PLACEMENTS, placement) for placement in moved.values()))
    flow.until_running(moved)
    return moved


def test_a_flow_over_two_hosts_gives_what_the_oracle_gives(pair: Any, stage: Callable) -> None:
    """Segments, partitions, edge topics and two processes must not show in the results."""
    flow = stage(WINDOWS)
    records = clicks(4_000, seed=1)
    records += last_call(records)
    submission = flow.submit(pair, "a", "b")
    assert {pair.name("a"), pair.name("b")} == {each.host for each in submission.placements.values()}
    flow.feed(records)
    expected = oracle(flow.text, records)
    assert as_texts(expected) == as_texts(flow.until_results(len(expected)))


def test_an_idle_source_partition_holds_nobody_up(pair: Any, stage: Callable) -> None:
    """Behind a re-key only its reader knows that nothing comes; it says so, and windows close without it."""
    flow = stage(WINDOWS.replace("lateness: 1s", "lateness: 1s, idle: 1s"))
    records = [{**record, "user": "the only one"} for record in clicks(3_000, seed=8)]
    flow.submit(pair, "a", "b")
    flow.feed(records)
    expected = oracle(flow.text, records)
    assert expected
    assert as_texts(expected) == as_texts(flow.until_results(len(expected)))


def test_a_host_that_is_down_is_not_taken_for_an_idle_one(hosts: Any, stage: Callable) -> None:
    """Its silence is longer than `idle`, but what it has not yet read still counts when it is back."""
    idle_s = 8
    hosts.start("a", "b")
    flow = stage(WINDOWS.replace("lateness: 1s", f"lateness: 1s, idle: {idle_s}s"))
    submission = flow.submit(hosts, "a")
    records = clicks(4_000, seed=9)
    records += last_call(records)
    source = parse_graph(flow.text).segments[0].id
    slots = [slot for slot in submission.placements if slot[0] == source and slot[1] % 2]
    move(flow, slots, hosts.name("b"))
    with flow.feeding(records, every_s=0.1):  # it dies amid its work: had it been idle, it would have said so before
        read = [partition for _, partition in slots]
        flow.until(lambda: all(position > 0 for position in committed_of(flow, source, read)), "b has read something")
        hosts.end("b", signal.SIGKILL)
    fed_s = time.monotonic()
    flow.until(lambda: time.monotonic() > fed_s + 1.5 * idle_s, "the silence is longer than `idle`")
    hosts.start("b")
    expected = oracle(flow.text, records)
    assert as_texts(expected) == as_texts(flow.until_results(len(expected)))


def committed_of(flow: Any, segment: str, partitions: Sequence[int]) -> list[int]:
    """Up to where a segment has read partitions of the source for good; negative before its first commit."""
    with reader(flow.bootstrap, group=f"stig.{segment}") as consumer:
        found = consumer.committed([TopicPartition(flow.source, each) for each in partitions], timeout=60)
    return [each.offset for each in found]


def test_a_killed_host_goes_on_where_it_had_committed(hosts: Any, stage: Callable) -> None:
    """kill -9 leaves no time for anything; what the next process finds on the broker must be enough."""
    hosts.start("a", "b")
    flow = stage(COUNTS)
    flow.submit(hosts, "a", "b")
    records = clicks(6_000, seed=2)
    for short, part in (("a", records[:3_000]), ("b", records[3_000:])):
        already = len(flow.results())
        with flow.feeding(part):
            flow.until(lambda already=already: len(flow.results()) > already + 200, "work is under way")
            hosts.end(short, signal.SIGKILL)
            hosts.start(short)
    expect_counts(records, flow.until_results(wanted_results(records)))


def test_partitions_move_while_records_flow(pair: Any, stage: Callable) -> None:
    """A move by the registry loses and doubles nothing, to a standby or not; the former owner stops by itself."""
    flow = stage(COUNTS)
    submission = flow.submit(pair, "a")
    records = clicks(5_000, seed=3)
    with flow.feeding(records):
        flow.until(lambda: len(flow.results()) > 200, "work is under way")
        move(flow, submission.placements, pair.name("a"), standbys=[pair.name("b")])
        move(flow, submission.placements, pair.name("b"), standbys=[pair.name("a")])
        back = move(flow, [slot for slot in submission.placements if slot[1] % 2 == 0], pair.name("a"))
    expect_counts(records, flow.until_results(wanted_results(records)))
    owners = {slot: status.host for slot, status in flow.statuses().items()}
    assert {slot: pair.name("a" if slot in back else "b") for slot in submission.placements} == owners


def test_a_frozen_host_wakes_up_to_find_its_partitions_gone(hosts: Any, stage: Callable) -> None:
    """It believes that it owns them still; none of its late writes may be seen, and the new owner goes on."""
    hosts.start("a", "b")
    flow = stage(COUNTS)
    submission = flow.submit(hosts, "a")
    records = clicks(6_000, seed=6)
    with flow.feeding(records):
        flow.until(lambda: len(flow.results()) > 200, "work is under way")
        hosts.running["a"].send_signal(signal.SIGSTOP)
        moved = move(flow, submission.placements, hosts.name("b"))
        hosts.running["a"].send_signal(signal.SIGCONT)
    expect_counts(records, flow.until_results(wanted_results(records)))
    flow.until_running(moved)
    assert {hosts.name("b")} == {status.host for status in flow.statuses().values()}
    assert hosts.running["a"].poll() is None


def test_a_stopped_host_drains_and_commits(hosts: Any, stage: Callable) -> None:
    """SIGTERM ends a host in a bounded time, with everything that it had fetched committed, and says so."""
    hosts.start("a")
    flow = stage(COUNTS)
    flow.submit(hosts, "a")
    with urlopen(f"http://127.0.0.1:{hosts.ports['a']}/metrics", timeout=60) as answer:
        assert f'stigmergy_segment_state{{segment="{flow.name}.' in answer.read().decode()
    records = clicks(3_000, seed=4)
    flow.feed(records[:2_000])
    flow.until(lambda: len(flow.results()) > 0, "work is under way")
    assert 0 == hosts.end("a")
    assert {"stopped"} == {status.state for status in flow.statuses().values()}
    flow.feed(records[2_000:])
    hosts.start("a")
    expect_counts(records, flow.until_results(wanted_results(records)))


SLOW = """
import pathlib

def wait(record, folder):
    pathlib.Path(folder, "begun").touch()
    while not pathlib.Path(folder, "go").exists():
        pass
    return record
"""


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_hanging_operator_does_not_keep_a_host_from_ending(
    hosts: Any, stage: Callable, tmp_path: Path, is_blocking: bool
) -> None:
    """Whether it hangs in a thread or holds up the loop itself; what it had in hand is done by the next host."""
    (tmp_path / "slow_rules.py").write_text(SLOW)
    hosts.start("a", extra=["--stop-timeout", "1", "--allow", f"{tmp_path}/"])
    settings = f"{{folder: '{tmp_path}'}}"
    call = f"{{python: 'slow_rules:wait', input: clicks, blocking: {str(is_blocking).lower()}, settings: {settings}}}"
    flow = stage(COUNTS.replace('{op: filter, input: clicks, where: "size > 0"}', call), partitions=1)
    flow.submit(hosts, "a")
    records = [record for record in clicks(60, seed=7) if record["size"] > 0]
    flow.feed(records)
    flow.until((tmp_path / "begun").exists, "the operator hangs")
    assert 0 == hosts.end("a")
    assert "did not end in time" in hosts.log("a")
    (tmp_path / "go").touch()
    hosts.start("a", extra=["--allow", f"{tmp_path}/"])
    expect_counts(records, flow.until_results(len(records)))


def test_a_withdrawn_flow_stops_and_goes_on_when_it_is_run_again(pair: Any, stage: Callable) -> None:
    """To stop a flow for a while is safe: its state and position stay."""
    flow = stage(COUNTS)
    flow.submit(pair, "a", "b")
    records = clicks(2_000, seed=5)
    flow.feed(records[:1_000])
    flow.until_results(wanted_results(records[:1_000]))
    flow.write(*withdrawn(read_registry(flow.bootstrap), flow.name, now_ms=1))
    flow.until(lambda: {"stopped"} == {each.state for each in flow.statuses().values()}, "all have stopped")
    flow.feed(records[1_000:])
    flow.submit(pair, "b")
    expect_counts(records, flow.until_results(wanted_results(records)))
