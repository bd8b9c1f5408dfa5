"""What hosts do with bad input, bad flows, garbage in the registry, and a second process of their own name."""

import json
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from services.cli.main import app
from services.registry.changes import submitted
from services.registry.snapshot import read_registry, read_to_end, reader
from services.setaside.letters import read_letters
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Placement

FILTER = """
flow: {flow}
sources:
  orders: {topic: {source}, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: {sink}}
"""


def stigmergy(*arguments: str, bootstrap: str) -> Any:
    """Runs a command with --json in this process; its answer."""
    done = CliRunner().invoke(app, [*arguments, "--bootstrap", bootstrap, "--json"])
    assert 0 == done.exit_code, f"{' '.join(arguments)}: {done.output} {done.exception!r}"
    return json.loads(done.stdout)


def refused(*arguments: str, bootstrap: str) -> str:
    """Runs a command that ends with code 1, as a process of its own; its complaint."""
    command = [sys.executable, "-m", "services.cli.main", *arguments, "--bootstrap", bootstrap, "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[3]
    )
    assert 1 == done.returncode, f"{done.stdout}\n{done.stderr}"
    return done.stderr


def orders(count: int) -> list[dict]:
    return [{"user": f"u{i % 9}", "size": i % 5} for i in range(count)]


def test_a_record_that_nobody_can_read_becomes_a_dead_letter_and_can_be_replayed(pair: Any, stage: Callable) -> None:
    """Nothing is skipped silently: the letter has all that is needed to send the record again."""
    flow = stage(FILTER, partitions=2)
    flow.submit(pair, "a", "b")
    flow.feed(orders(50))
    flow.feed_raw([(b"no json", b"k1"), (b"\xff\xfe", b"k2")], headers=[("trace", b"7")])
    flow.feed(orders(50))
    flow.until_results(40)
    letters = [each.letter for each in flow.until(lambda: both(flow), "two letters are there")]
    assert {(b"k1", b"no json"), (b"k2", b"\xff\xfe")} == {(letter.key, letter.value) for letter in letters}
    assert {"orders"} == {letter.operator for letter in letters}
    assert {flow.source} == {letter.origin.topic for letter in letters}

    listed = stigmergy("dead-letters", "list", flow.name, bootstrap=flow.bootstrap)
    assert 2 == listed["count"]
    shown = stigmergy("dead-letters", "show", flow.name, "0", bootstrap=flow.bootstrap)
    assert {"trace": "7"} == shown["headers"]
    sent = stigmergy("dead-letters", "replay", flow.name, bootstrap=flow.bootstrap)
    assert [0, 1] == [each["number"] for each in sent["sent"]]
    again = [record for record in raw_records(flow) if record[0] in (b"no json", b"\xff\xfe")]
    assert {(b"no json", b"k1"): 2, (b"\xff\xfe", b"k2"): 2} == Counter(record[:2] for record in again)
    assert all(("trace", b"7") in record[2] for record in again)
    flow.until(lambda: 4 == len(list(read_letters(flow.bootstrap, flow.name))), "the replayed ones fail again")


def both(flow: Any) -> list[Any] | None:
    letters = list(read_letters(flow.bootstrap, flow.name))
    return letters if len(letters) == 2 else None


def raw_records(flow: Any) -> list[tuple[bytes, bytes, list]]:
    with reader(flow.bootstrap) as consumer:
        at = [TopicPartition(flow.source, partition) for partition in range(2)]
        return [(record.value(), record.key(), record.headers() or []) for record in read_to_end(consumer, at)]


def test_garbage_in_the_registry_is_survived(pair: Any, stage: Callable) -> None:
    """One bad writer must not stop all hosts, nor what it wrote be followed."""
    flow = stage(FILTER)
    flow.submit(pair, "b")
    placement = next(iter(flow.submit(pair, "a").placements.values()))
    producer = Producer({"bootstrap.servers": flow.bootstrap, "log_level": 0})
    key = catalogue.PLACEMENTS.key_of(placement)
    for topic in (catalogue.PLACEMENTS.name, catalogue.FLOWS.name, catalogue.HOSTS.name):
        for value in (b"", b"{", b"\xff" * 100, b'{"version": 99}', b'{"version": 1, "segment": 7}', b"[" * 5_000):
            producer.produce(topic, value, key, partition=0)
        producer.produce(topic, None, None, partition=0)
    stale = Placement(**{**as_values(placement), "epoch": 1, "host": pair.name("b")})
    wrong_key = Placement(**{**as_values(placement), "epoch": 99, "host": pair.name("b")})
    producer.produce(catalogue.PLACEMENTS.name, encoded(stale), key, partition=0)
    producer.produce(catalogue.PLACEMENTS.name, encoded(wrong_key), b"another/0", partition=0)
    assert 0 == producer.flush(60)
    flow.feed(orders(100))
    flow.until_results(40)
    assert {pair.name("a")} == {each.host for each in flow.statuses().values()}
    stage(FILTER).submit(pair, "a", "b")


def as_values(placement: Placement) -> dict[str, Any]:
    return {name: getattr(placement, name) for name in placement.__struct_fields__}


def encoded(placement: Placement) -> bytes:
    return catalogue.PLACEMENTS.codec.encode(placement, topic=catalogue.PLACEMENTS.name)


def test_a_flow_without_its_topic_parks_and_runs_when_the_topic_comes(pair: Any, stage: Callable) -> None:
    """A person reads why it waits; making the topic is all that there is to do."""
    later = f"later-{uuid.uuid4().hex[:12]}"
    flow = stage(FILTER.replace("{sink}", later), partitions=1)
    graph = parse_graph(flow.text)
    placed = {(segment.id, 0): pair.name("a") for segment in graph.segments}
    flow.write(*submitted(read_registry(flow.bootstrap), graph, flow.text, placed, now_ms=1))
    flow.until(lambda: parked_for(flow, later), "it parks with its reason")
    flow.feed(orders(50))
    admin = AdminClient({"bootstrap.servers": flow.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(later, num_partitions=1)])[later].result(30)
    flow.sink = later
    flow.until_results(20)


def test_a_flow_that_does_not_compile_parks_alone(pair: Any, stage: Callable) -> None:
    """One flow's trouble never touches another on the same host; a corrected revision runs."""
    good, bad = stage(FILTER), stage(FILTER, partitions=1)
    graph = parse_graph(bad.text)
    placed = {(segment.id, 0): pair.name("a") for segment in graph.segments}
    nonsense = bad.text.replace("size > 2", "size >")
    bad.write(*submitted(read_registry(bad.bootstrap), graph, nonsense, placed, now_ms=1))
    bad.until(lambda: parked_for(bad, "compiled"), "it parks with its reason")
    good.submit(pair, "a")
    good.feed(orders(100))
    good.until_results(40)
    bad.submit(pair, "a")


def test_the_newer_process_of_a_name_wins(hosts: Any, stage: Callable) -> None:
    """Two hosts of one name would fight over every partition; the older one sees the newer one and leaves."""
    hosts.start("a")
    flow = stage(FILTER)
    flow.submit(hosts, "a")
    older = hosts.running["a"]
    hosts.start("a")
    assert 4 == older.wait(timeout=120)
    flow.feed(orders(100))
    flow.until_results(40)
    assert hosts.running["a"].poll() is None


def test_commands_run_assign_and_show_a_flow(pair: Any, stage: Callable, tmp_path: Path) -> None:
    """What people type, from a file to a moved partition, on real hosts."""
    flow = stage(FILTER, partitions=2)
    file = tmp_path / "flow.yaml"
    file.write_text(flow.text)
    both_hosts = f"{pair.name('a')},{pair.name('b')}"
    flow.until(lambda: live(flow) >= set(both_hosts.split(",")), "both hosts live")
    ran = stigmergy("run", str(file), "--hosts", both_hosts, bootstrap=flow.bootstrap)
    assert ran["running"]
    assert both_hosts.split(",") == sorted(each["host"] for each in ran["placements"])
    moved = stigmergy(
        *("assign", flow.name, "--segment", "large", "--partition", "0", "--host", pair.name("b")),
        bootstrap=flow.bootstrap,
    )
    assert [(pair.name("b"), 2, pair.name("a"))] == [
        (each["host"], each["epoch"], each["origin"]) for each in moved["assigned"]
    ]
    placed = [each for each in read_registry(flow.bootstrap).placements.values() if each.flow == flow.name]
    assert [(pair.name("b"), None)] * 2 == [(each.host, each.origin) for each in placed], "nobody is waited for now"
    flow.feed(orders(500))
    flow.until_results(200)
    flow.until(lambda: ("running", 2, [pair.name("b")]) == listed(flow), "it is listed as running on b")
    flow.until(lambda: operators_seen(flow), "top shows the operator")
    stigmergy("withdraw", flow.name, bootstrap=flow.bootstrap)
    flow.until(lambda: {"stopped"} == {each.state for each in flow.statuses().values()}, "all have stopped")
    assert "no flow 'nope'" in refused("withdraw", "nope", bootstrap=flow.bootstrap)


def live(flow: Any) -> set[str]:
    """The hosts that live, as `hosts` shows them: one that was stalled for five seconds is silent for the moment."""
    return {row["host"] for row in stigmergy("hosts", bootstrap=flow.bootstrap) if row["lives"]}


def listed(flow: Any) -> tuple[Any, ...]:
    """State, how many run, and where, as `flows` shows them."""
    (row,) = [each for each in stigmergy("flows", bootstrap=flow.bootstrap) if each["flow"] == flow.name]
    return tuple(row[name] for name in ("state", "running", "hosts"))


def operators_seen(flow: Any) -> bool:
    """Whether `top` knows the flow's operator; records flow while it looks."""
    flow.feed(orders(50))
    seen = stigmergy("top", flow.name, bootstrap=flow.bootstrap)["operators"]
    return {"large"} == {line["operator"] for line in seen} and sum(line["in_per_s"] for line in seen) > 0


def parked_for(flow: Any, word: str) -> bool:
    told = list(flow.statuses().values())
    return bool(told) and all(each.state == "parked" and word in str(each.reason) for each in told)
