"""Two flows with an equal part on real hosts: it runs once, whatever is killed and whoever goes first."""

import signal
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from services.cli.submit import is_running
from services.registry.changes import submitted, withdrawn
from services.registry.snapshot import read_registry
from services.registry.view import RegistryView
from services.registry.write import write
from tests.integration.host_process.conftest import Stage
from tests.integration.host_process.test_hosts_run_flows import clicks
from tests.integration.placement.conftest import now_ms
from topics.flow.file import parse_graph
from topics.messages import FlowRevision

FLOW = """
flow: {flow}
delivery: exactly_once
sources:
  clicks: {topic: {source}, key: user, event_time: ts, lateness: 1h}
operators:
  real:  {op: filter, input: clicks, where: "size > 0"}
  pages: {op: aggregate, input: real, by: [page], emit: {n: count()}}
  last:  {op: aggregate, input: pages, by: [n], emit: LAST}
sinks:
  out: {input: last, topic: {sink}}
"""
FIRST, SECOND = "{k: count()}", "{m: count(), top: max(n)}"
LOST_AFTER_S = 8.0


def submit(flow: Stage) -> None:
    """As `stigmergy submit` does: the flow's text and nothing else. Ants find its place."""
    entries = submitted(read_registry(flow.bootstrap), parse_graph(flow.text), flow.text, {}, now_ms=now_ms())
    write(flow.bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])


def withdraw(flow: Stage) -> None:
    """As `stigmergy withdraw` does."""
    write(flow.bootstrap, withdrawn(read_registry(flow.bootstrap), flow.name, now_ms=now_ms()))


def until_runs(flow: Stage) -> RegistryView:
    flow.until(lambda: is_running(read_registry(flow.bootstrap), flow.name), f"{flow.name} runs")
    return read_registry(flow.bootstrap)


def placed(flow: Stage) -> dict[str, set[str]]:
    """First operator of each segment that is placed -> its hosts."""
    found: dict[str, set[str]] = {}
    for each in read_registry(flow.bootstrap).placements.values():
        if each.flow == flow.name and each.host is not None:
            found.setdefault(each.operators[0], set()).add(each.host)
    return found


def serving(flow: Stage) -> dict[str, set[tuple[str, ...]]]:
    """First operator of each segment that is placed -> whom it serves."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for each in read_registry(flow.bootstrap).placements.values():
        if each.flow == flow.name and each.host is not None:
            found.setdefault(each.operators[0], set()).add(each.serves)
    return found


def expected(records: Iterable[dict]) -> Counter[tuple[int, int]]:
    """(n, k): for every number that the counts of pages reached, one result for each page that did."""
    pages = Counter(record["page"] for record in records if record["size"] > 0)
    reached = Counter(n for count in pages.values() for n in range(1, count + 1))
    return Counter((n, k) for n, count in reached.items() for k in range(1, count + 1))


def results(flow: Stage, name: str) -> Counter[tuple[int, int]]:
    return Counter((each["n"], each[name]) for each in flow.results())


def pair(stage: Callable[..., Stage]) -> tuple[Stage, Stage]:
    """Two flows on the same source that differ in what they make of the counts."""
    first, second = stage(FLOW.replace("LAST", FIRST)), stage(FLOW.replace("LAST", SECOND))
    return first, replace(second, source=first.source, text=second.text.replace(second.source, first.source))


def until_equal(flow: Stage, name: str, records: list[dict]) -> None:
    wanted = expected(records)
    flow.until(lambda: results(flow, name).total() >= wanted.total(), f"{flow.name} has {wanted.total()} results")
    assert wanted == results(flow, name)


def test_two_flows_share_a_segment_and_the_first_may_go(hosts: Any, service: Any, stage: Callable[..., Stage]) -> None:
    """One copy runs. Its host may be killed, its own flow may be withdrawn: no result of either is lost or doubled."""
    hosts.start("a", "b", "c")
    service.start("p1", silent_s=LOST_AFTER_S)
    first, second = pair(stage)
    records = clicks(6_000, seed=31)
    submit(first)
    until_runs(first)
    first.feed(records[:1_500])
    until_equal(first, "k", records[:1_500])

    submit(second)
    view = until_runs(second)
    (tap,) = view.plans[second.name].taps
    assert first.name == tap.server
    assert {"last"} == set(placed(second)), "it runs nothing but what is its own"
    assert {"real": {(second.name,)}, "pages": {(second.name,)}, "last": {()}} == serving(first)
    until_equal(second, "m", records[:1_500])

    with first.feeding(records[1_500:3_500], chunk=25, every_s=0.1):
        victim = min(placed(first)["pages"])
        hosts.end(victim.partition("-")[0], signal.SIGKILL)
        first.until(lambda: victim not in placed(first)["pages"], "the shared segment is placed anew")
        until_runs(first)
        until_runs(second)
    until_equal(first, "k", records[:3_500])
    until_equal(second, "m", records[:3_500])

    with first.feeding(records[3_500:], chunk=25, every_s=0.1):
        withdraw(first)
        first.until(lambda: set(placed(first)) == {"real", "pages"}, "only what is shared is left of the first flow")
    until_equal(second, "m", records)
    assert {(second.name,)} == serving(first)["pages"]
    seen = results(first, "k")
    assert expected(records[:3_500]) <= seen < expected(records), "its sink has stopped, and nothing is there twice"

    withdraw(second)
    second.until(lambda: not placed(first) and not placed(second), "nothing of both is left")
    assert seen == results(first, "k")


def test_a_served_flow_that_comes_back_goes_on_where_it_stopped(
    hosts: Any, service: Any, stage: Callable[..., Stage]
) -> None:
    """And a reader that comes back reads on where it stopped, of the same segment."""
    hosts.start("a", "b")
    service.start("p1", silent_s=LOST_AFTER_S)
    first, second = pair(stage)
    records = clicks(4_000, seed=32)
    for flow, name in ((first, "k"), (second, "m")):
        submit(flow)
        until_runs(flow)
        if flow is first:
            flow.feed(records[:1_000])
        until_equal(flow, name, records[:1_000])
    assert read_registry(first.bootstrap).plans[second.name].taps
    with first.feeding(records[1_000:2_000]):
        withdraw(first)
        first.until(lambda: "last" not in placed(first), "its own end stops")
        submit(first)
        until_runs(first)
    until_equal(first, "k", records[:2_000])
    with first.feeding(records[2_000:3_000]):
        withdraw(second)
        second.until(lambda: not placed(second), "the reader stops")
        first.until(lambda: {()} == serving(first)["pages"], "nobody is counted any more")
        submit(second)
        until_runs(second)
    assert {"last"} == set(placed(second))
    first.feed(records[3_000:])
    until_equal(first, "k", records)
    until_equal(second, "m", records)
    withdraw(first)
    withdraw(second)
    second.until(lambda: not placed(first) and not placed(second), "nothing of both is left")


def test_a_flow_whose_first_records_are_gone_is_not_shared(
    hosts: Any, service: Any, stage: Callable[..., Stage]
) -> None:
    """The second flow runs all of it itself, from the beginning of the source."""
    hosts.start("a", "b")
    service.start("p1", silent_s=LOST_AFTER_S)
    first, second = pair(stage)
    records = clicks(1_000, seed=33)
    submit(first)
    until_runs(first)
    first.feed(records)
    until_equal(first, "k", records)
    topic = f"stig.flow.{first.name}.edge.pages.TO.last.0"
    admin = AdminClient({"bootstrap.servers": first.bootstrap, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, 1)]).values():
        future.result()

    submit(second)
    view = until_runs(second)
    assert () == view.plans[second.name].taps
    assert {"real", "pages", "last"} == set(placed(second))
    until_equal(second, "m", records)
    withdraw(first)
    withdraw(second)
    second.until(lambda: not placed(first) and not placed(second), "nothing of both is left")
