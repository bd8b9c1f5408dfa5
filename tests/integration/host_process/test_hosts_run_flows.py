"""Flows over real host processes give what the oracle gives, whatever happens to the hosts."""

import json
import random
from collections import Counter
from collections.abc import Callable

from services.operators.run import FlowRun
from topics.flow.file import parse_graph

FLOW = """
flow: {flow}
qos: {latency_ms: 200}
delivery: exactly_once
sources:
  clicks: {topic: {source}, key: user, event_time: ts, lateness: 1s, idle: 2s}
operators:
  real:    {op: filter, input: clicks, where: "size > 0"}
  totals:  {op: aggregate, input: real, by: [page], window: {size: 10s}, emit: {n: count(), size: sum(size)}}
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


def last_call(records: list[dict]) -> list[dict]:
    """One record for each of many users, much later: every partition's time moves past all windows before."""
    end_ms = records[-1]["ts"] + 60_000
    return [{"user": f"u{i}", "page": "end", "size": 1, "ts": end_ms} for i in range(40)]


def oracle(text: str, records: list[dict]) -> Counter[str]:
    """What the flow gives in one process without Kafka, each result as text."""
    results: Counter[str] = Counter()

    def deliver(_sink: str, encoded: object) -> None:
        results.update(as_text(json.loads(value)) for value in encoded.values)  # type: ignore[attr-defined]

    run = FlowRun(parse_graph(text), deliver)
    run.feed(run.sources[0], [json.dumps(record).encode() for record in records], now_ms=0)
    return results


def as_text(result: dict) -> str:
    return str(sorted(result.items()))


def test_a_flow_over_two_hosts_gives_what_the_oracle_gives(hosts, stage: Callable) -> None:
    """Segments, partitions, edge topics and two processes must not show in the results."""
    hosts.start("a", "b")
    flow = stage(FLOW)
    records = clicks(4_000, seed=1)
    records += last_call(records)
    submission = flow.submit("a", "b")
    flow.until_running(submission)
    assert {hosts.name("a"), hosts.name("b")} == {each.host for each in submission.placements.values()}
    flow.feed(records)
    expected = oracle(flow.text, records)
    flow.until(lambda: len(flow.results()) >= expected.total(), f"{expected.total()} results: {flow.states()}")
    assert expected == Counter(map(as_text, flow.results()))
