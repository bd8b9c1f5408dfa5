"""A source topic gets more partitions while its flow runs: nobody does anything, and no record is missed."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.integration.host_process.conftest import Stage
from tests.integration.host_process.test_hosts_run_flows import as_texts, clicks, oracle

WINDOWS = """
flow: {flow}
delivery: exactly_once
sources:
  clicks: {topic: {source}, key: user, event_time: ts, lateness: 60s, idle: 5s}
operators:
  real:   {op: filter, input: clicks, where: "size > 0"}
  totals: {op: aggregate, input: real, by: [page], window: {size: 10s}, emit: {n: count(), size: sum(size)}}
sinks:
  out: {input: totals, topic: {sink}, key: page}
"""
FIRST_MS, PHASE_MS = 1_700_000_000_000, 200_000
"""A phase's records are within seconds of each other, so none is late; the next phase closes all its windows."""
BEFORE, AFTER = 4, 6


def phase(number: int) -> list[dict]:
    return clicks(600, seed=40 + number, first_ms=FIRST_MS + number * PHASE_MS)


def until_like_the_oracle(flow: Stage, records: Sequence[dict]) -> None:
    wanted = as_texts(oracle(flow.text, records))
    flow.until(lambda: len(flow.results()) >= wanted.total(), f"there are {wanted.total()} results")
    assert wanted == as_texts(flow.results())


def test_new_partitions_are_read_and_windows_close_also_after_a_restart(
    hosts: Any, service: Any, lead: Callable[[str], Any]
) -> None:
    """They were read by nobody. And whoever read the edge expected them after its next start: it waited for ever."""
    hosts.start("a", "b")
    service.start("p1")
    leader = lead(WINDOWS)
    flow = leader.flow
    leader.plan("a", "b")
    leader.until_runs_on("a", "b")
    flow.feed_to(range(BEFORE), phase(0))
    flow.grow(AFTER)
    flow.feed_to(range(BEFORE, AFTER), phase(1))
    until_like_the_oracle(flow, [*phase(0), *phase(1)])
    leader.until_runs_on("a", "b")
    reads, counts = (segment.id for segment in leader.graph.segments)
    placed = [segment for segment, _ in leader.placements()]
    assert (AFTER, BEFORE) == (placed.count(reads), placed.count(counts)), "what is behind a re-key stays as it is"
    (told,) = (each for each in leader.decisions() if each.kind == "grown")
    assert f"topic {flow.source} has {AFTER} partitions now: {AFTER - BEFORE} more are read" == told.why

    assert 0 == hosts.end("b")
    hosts.start("b")
    leader.until_runs_on("a", "b")
    flow.feed_to(range(AFTER), phase(2))
    until_like_the_oracle(flow, [*phase(0), *phase(1), *phase(2)])
