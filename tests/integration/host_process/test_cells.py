"""Cells and leaders on real hosts: ants place flows, place them anew when hosts die, and false ants change nothing."""

import secrets
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition

from placement.ants.enforcement import Release
from services.cluster_key import read_key
from services.host.cell.post import inbox_of
from services.registry.snapshot import read_registry, read_to_end, reader
from topics import catalogue
from topics.ants.envelope import Contents, Travelling, seal
from topics.messages import CommittedPlan, Decision, FlowRevision
from topics.messages.ants import SEALED_BYTES_MAX

SHORTS = ("a", "b", "c", "d", "e", "f")
TEMPLATE = """
flow: {flow}
qos: {latency_ms: BOUND}
sources:
  orders: {topic: {source}, at: SOURCE, key: user, event_time: ts}
operators:
  large: {op: filter, input: orders, where: "amount > 0"}
  spent: {op: aggregate, input: large, by: [shop], window: {size: 10s}, emit: {total: sum(amount)}}
sinks:
  out: {input: spent, topic: {sink}, at: SINK}
"""


PATIENT = ["--silent", "12"]
"""Hosts that take nobody for dead who is only slow to speak."""


@pytest.fixture
def six(hosts: Any) -> Any:
    """Six hosts that know each other; the test may kill them."""
    hosts.start(*SHORTS, extra=PATIENT)
    return hosts


def submit(stage: Any, hosts: Any, *, source: str, sink: str, bound_ms: int = 5_000) -> None:
    """Submit the flow as `stigmergy submit` does: its text and nothing else."""
    text = stage.text.replace("SOURCE", hosts.name(source)).replace("SINK", hosts.name(sink))
    text = text.replace("BOUND", str(bound_ms))
    revision = FlowRevision(
        flow=stage.name,
        revision=1,
        state="submitted",
        text=text,
        delivery="at_least_once",
        changed_ms=time.time_ns() // 1_000_000,
    )
    stage.write((catalogue.FLOWS, revision))


def plan_of(stage: Any, *, after: int = 0) -> CommittedPlan | None:
    """The flow's plan, if it is newer than that epoch."""
    plan = read_registry(stage.bootstrap).plans.get(stage.name)
    return plan if plan is not None and plan.epoch > after else None


def test_a_submitted_flow_is_planned_by_ants_and_planned_anew_when_hosts_die(six: Any, stage: Callable) -> None:
    """First the host that runs it dies, then the leader: whoever is left goes on from what the registry knows."""
    flow = stage(TEMPLATE)
    submit(flow, six, source="a", sink="b")
    began_s = time.monotonic()
    plan: CommittedPlan = flow.until(lambda: plan_of(flow), "there is a plan")
    print(f"planned {time.monotonic() - began_s:.2f} s after it was submitted")
    names = {six.name(short): short for short in SHORTS}
    assert six.name("a") == plan.leader
    assert set(plan.hosts.values()) <= set(read_registry(flow.bootstrap).hosts)

    victim = next((names[host] for host in plan.hosts.values() if host in names and names[host] != "a"), None)
    if victim is not None:
        six.end(victim, signal.SIGKILL)
        died_s = time.monotonic()
        plan = flow.until(lambda: plan_of(flow, after=plan.epoch), "what the dead host ran is planned anew")
        print(f"planned anew {time.monotonic() - died_s:.2f} s after a host died")
        assert six.name(victim) not in plan.hosts.values()
        assert six.name("a") == plan.leader

    six.end("a", signal.SIGKILL)
    before = plan
    if six.name("a") in plan.hosts.values():
        plan = flow.until(lambda: plan_of(flow, after=before.epoch), "another leader plans anew")
        assert six.name("a") not in {plan.leader, *plan.hosts.values()}
        assert plan.term > before.term
    else:
        heir = flow.until(lambda: leader_of(six, flow), "another host leads the flow")
        assert heir != "a"


def test_a_bound_that_nothing_keeps_is_refused_with_the_nearest_that_would_do(hosts: Any, stage: Callable) -> None:
    """Two hosts are milliseconds apart over Kafka; nobody can promise one."""
    hosts.start("a", "b", extra=PATIENT)
    flow = stage(TEMPLATE)
    submit(flow, hosts, source="a", sink="b", bound_ms=1)
    refused: Decision = flow.until(lambda: refusal_of(flow), "the flow is refused")
    assert ("latency", 1.0) == (refused.evidence["binding"], refused.evidence["bound_ms"])
    nearest_ms = refused.evidence["nearest_bound_ms"]
    assert isinstance(nearest_ms, float)
    assert nearest_ms > 1
    assert f"relax qos.latency_ms to {nearest_ms:g}" in refused.why
    assert plan_of(flow) is None


def refusal_of(stage: Any) -> Decision | None:
    """The last refusal of the flow."""
    told = read_registry(stage.bootstrap, catalogue.DECISIONS).decisions.values()
    return next((each for each in told if each.flow == stage.name and each.kind == "refused"), None)


def leader_of(hosts: Any, stage: Any) -> str | None:
    """Who says in its log that it leads the flow, beside a."""
    told = f'"flow": "{stage.name}"'
    return next(
        (
            short
            for short in SHORTS
            if short in hosts.running
            and any("leads a flow" in line and told in line for line in hosts.log(short).splitlines())
        ),
        None,
    )


def test_false_ants_are_counted_and_change_nothing(six: Any, stage: Callable) -> None:
    """Forged, replayed, truncated, oversized and misaddressed envelopes, in the middle of a working cluster."""
    flow = stage(TEMPLATE)
    submit(flow, six, source="a", sink="b")
    plan: CommittedPlan = flow.until(lambda: plan_of(flow), "there is a plan")
    target = six.name("b")
    topic = catalogue.ANTS_ENFORCEMENT
    seen = [
        value for name in (catalogue.ANTS_ROUTING.name, topic.name) for value in came_to(flow.bootstrap, name, target)
    ]
    assert seen, "b has heard ants"
    now_ms = time.time_ns() / 1e6
    end_it = Contents("evil", "boot", 1, now_ms, (Travelling(Release(flow.name, 99), 0, now_ms),))
    forged = topic.codec.encode(
        seal(end_it, key=secrets.token_bytes(32), topic=topic.name, target=target), topic=topic.name
    )
    other = topic.codec.encode(
        seal(end_it, key=read_key(None), topic=topic.name, target=six.name("c")), topic=topic.name
    )
    late = Contents("evil", "boot", 2, now_ms - 3_600_000, end_it.ants)
    old = topic.codec.encode(seal(late, key=read_key(None), topic=topic.name, target=target), topic=topic.name)
    false = {
        "forged": [forged],
        "misaddressed": [other],
        "too_old": [old],
        "unreadable": [forged[:-1], forged[:40], b"", bytes(SEALED_BYTES_MAX + 5_000), b"not an envelope"],
    }
    before = {why: refused(six, "b", why) for why in (*false, "replayed")}
    replay = newest_routing(flow.bootstrap, target)
    put(flow.bootstrap, topic.name, target, [value for values in false.values() for value in values])
    put(flow.bootstrap, catalogue.ANTS_ROUTING.name, target, [replay, replay])
    for why, values in {**false, "replayed": [replay, replay]}.items():
        flow.until(
            lambda why=why, values=values: refused(six, "b", why) >= before[why] + len(values),
            f"{why} is counted: {refused(six, 'b', why)} after {before[why]}",
        )
    now = plan_of(flow)  # perhaps a better one by now, but not ended, as the false ants would have it
    assert now is not None
    assert set(plan.hosts) == set(now.hosts)
    assert 0 == six.metric("b", "cell_failures_total")


def refused(hosts: Any, short: str, why: str) -> float:
    return float(hosts.metric(short, f'cell_ants_refused_total{{why="{why}"}}'))


def came_to(bootstrap: str, topic: str, host: str) -> list[bytes]:
    """All envelopes that were sent to a host."""
    with reader(bootstrap, group="test") as consumer:
        at = [TopicPartition(topic, inbox_of(host))]
        return [record.value() for record in read_to_end(consumer, at) if record.key() == host.encode()]


def newest_routing(bootstrap: str, host: str) -> bytes:
    """The last envelope on the routing topic: probes keep it busy, so it is seconds old at most."""
    return came_to(bootstrap, catalogue.ANTS_ROUTING.name, host)[-1]


def put(bootstrap: str, topic: str, host: str, values: list[bytes]) -> None:
    """Anybody who reaches the broker can do this."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "message.max.bytes": 2**20})
    for value in values:
        producer.produce(topic, value, host.encode(), partition=inbox_of(host))
    assert 0 == producer.flush(60)
