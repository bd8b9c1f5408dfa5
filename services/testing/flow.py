"""A flow that runs in the containers: send it records, wait for its results, for a move, for its end.

Sources and sinks go by their names in the flow; their topics are `topics`.
"""

import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from confluent_kafka import Producer, TopicPartition

from services.registry.snapshot import read_registry, read_to_end, reader, watermarks
from services.setaside.letters import read_letters
from services.testing.waiting import PATIENCE_S, NeverError, until
from topics import catalogue
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.flow.write import to_yaml
from topics.messages import DeadLetter

if TYPE_CHECKING:
    from services.testing.running import RunningStigmergy

PARTITIONS = 2
"""Of a source whose flow says nothing about it."""
CODECS: dict[str, tuple[Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    "json": (msgspec.json.encode, msgspec.json.decode),
    "msgpack": (msgspec.msgpack.encode, msgspec.msgpack.decode),
}

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Move:
    """One partition that went from one host to another. `pause_ms`: how long nobody processed it."""

    segment: str
    partition: int
    origin: str
    target: str
    pause_ms: float | None


def own_names(graph: FlowGraph) -> FlowGraph:
    """The same flow under a name and with topics that nobody else has."""
    mark = uuid.uuid4().hex[:8]
    spec = graph.spec
    renamed = replace(
        spec,
        name=f"{spec.name[:50]}-{mark}",
        sources=tuple(replace(each, topic=f"{each.topic}-{mark}") for each in spec.sources),
        sinks=tuple(replace(each, topic=f"{each.topic}-{mark}") for each in spec.sinks),
    )
    return parse_graph(to_yaml(renamed))


def submit(stigmergy: "RunningStigmergy", graph: FlowGraph, *, patience_s: float) -> "Flow":
    """Makes the topics that are missing, submits, and waits until the flow runs."""
    known = set(stigmergy.admin.list_topics(timeout=10.0).topics)
    sources = {each.topic: each.partitions or PARTITIONS for each in graph.spec.sources}
    sinks = dict.fromkeys((each.topic for each in graph.spec.sinks), max(sources.values()))
    for topic, partitions in (sources | sinks).items():
        if topic not in known:
            # The broker's time: results with event times of years ago stay, and gaps can be measured.
            config = {} if topic in sources else {"message.timestamp.type": "LogAppendTime"}
            stigmergy.create_topic(topic, partitions=partitions, retention_ms="-1", **config)
    flow = Flow(stigmergy, graph)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{graph.spec.name}.yaml"
        file.write_text(to_yaml(graph.spec))
        stigmergy.command("submit", str(file), "--timeout", str(patience_s))
    return flow


class Flow:
    """Made by `Stigmergy.submit` or `RunningStigmergy.submit`."""

    def __init__(self, stigmergy: "RunningStigmergy", graph: FlowGraph) -> None:
        self.stigmergy = stigmergy
        self.graph = graph
        self.name = graph.spec.name
        self._sources = {each.name: each for each in graph.spec.sources}
        self._sinks = {each.name: each for each in graph.spec.sinks}
        self.topics = {name: each.topic for name, each in (self._sources | self._sinks).items()}
        self._ends = {name: self._end(each.topic) for name, each in self._sinks.items()}
        self._begun_ms = time.time_ns() // 1_000_000

    def send(self, source: str, records: Iterable[Record]) -> None:
        """Writes records to a source, keyed as the flow says, and returns when the broker has them."""
        spec = self._sources[source]
        encode, _ = CODECS[spec.codec]
        producer = Producer(
            {
                "bootstrap.servers": self.stigmergy.bootstrap,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # Kafka's default; librdkafka has another one
                "log_level": 0,
            }
        )
        for record in records:
            key = None if spec.key is None else str(record[spec.key]).encode()
            producer.produce(spec.topic, encode(record), key)
            producer.poll(0)
        until(lambda: not producer.flush(1.0), f"the broker has taken the records of {source}")

    def results(self, sink: str, count: int, *, patience_s: float = PATIENCE_S) -> list[dict[str, Any]]:
        """All results of a sink since the flow was submitted, as soon as there are `count` or more.

        Those of one partition are in order. Raises NeverError with what is there.
        """
        found: list[dict[str, Any]] = []

        def are_enough() -> bool:
            found[:] = self.results_so_far(sink)
            return len(found) >= count

        try:
            until(are_enough, f"{self.name} has {count} results at {sink}", patience_s=patience_s)
        except NeverError as never:
            raise NeverError(f"{never}; there are {len(found)}: {found[:5]}...") from None
        return found

    def results_so_far(self, sink: str) -> list[dict[str, Any]]:
        """The results that a consumer of committed records can read now."""
        topic, (_, decode) = self._sinks[sink].topic, CODECS[self._sinks[sink].codec]
        starts = self._ends[sink]
        at = [TopicPartition(topic, partition) for partition in starts]
        with reader(self.stigmergy.bootstrap) as consumer:
            records = list(read_to_end(consumer, at, starts=lambda at: starts[at.partition]))
        records.sort(key=lambda record: (record.partition() or 0, record.offset() or 0))
        return [decode(record.value() or b"") for record in records]

    def dead_letters(self) -> list[DeadLetter]:
        """The records that no operator could process, with the reasons."""
        letters = read_letters(self.stigmergy.bootstrap, self.name)
        return [each.letter for each in letters if each.letter is not None]

    def hosts(self) -> dict[str, set[str]]:
        """Where each operator runs: on one host, or with its partitions on several."""
        placed = [
            each for each in read_registry(self.stigmergy.bootstrap).placements.values() if each.flow == self.name
        ]
        return {
            operator: {str(each.host) for each in placed if operator in each.operators and each.host is not None}
            for operator in sorted({operator for each in placed for operator in each.operators})
        }

    def move(self, operator: str, host: str, *, wait: bool = True) -> None:
        """Moves an operator, and what is fused with it, to a host; returns when it is there, or at once."""
        self.stigmergy.command("move", self.name, operator, host, "--wait" if wait else "--no-wait")

    def moves(self) -> list[Move]:
        """The moves that have been done since the flow was submitted, in the order of their beginning."""
        found = read_registry(self.stigmergy.bootstrap, catalogue.MOVES).moves.values()
        done = [each for each in found if each.flow == self.name and each.phase == "done"]
        return [
            Move(each.segment, each.partition, each.origin, each.target, each.actual_pause_ms)
            for each in sorted(done, key=lambda each: each.proposed_ms)
            if each.proposed_ms >= self._begun_ms
        ]

    def until_moved(self, *, to: str | None = None, patience_s: float = PATIENCE_S) -> Sequence[Move]:
        """Waits until something of the flow has moved (to this host), whoever wanted it; the moves that match."""
        where = f" to {to}" if to is not None else ""
        return until(
            lambda: [each for each in self.moves() if to in (None, each.target)],
            f"something of {self.name} has moved{where}",
            patience_s=patience_s,
        )

    def until_running(self, *, patience_s: float = PATIENCE_S) -> None:
        """Waits until all partitions run, on hosts that live, as their owners say."""

        def all_run() -> bool:
            rows = self.stigmergy.command("flows")
            return any(row["flow"] == self.name and row["state"] == "running" for row in rows)

        until(all_run, f"all of {self.name} runs", patience_s=patience_s)

    def withdraw(self) -> None:
        """Ends the flow; its topics stay."""
        self.stigmergy.command("withdraw", self.name)

    def _end(self, topic: str) -> dict[int, int]:
        """The next offset of each partition."""
        with reader(self.stigmergy.bootstrap) as consumer:
            partitions = consumer.list_topics(topic, timeout=10.0).topics[topic].partitions
            return {each: watermarks(consumer, TopicPartition(topic, each))[1] for each in sorted(partitions)}
