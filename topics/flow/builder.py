"""Flows written in Python: the same words as in a file, the same checks, the same graph.

    flow = Flow("top-talkers", latency_ms=250)
    packets = flow.source("packets", topic="packets", at="edge-1", key="src", event_time="ts")
    tcp = packets.filter("proto == 'tcp' and bytes > 0")
    traffic = tcp.aggregate(by=["src", "dst"], window={"hop": "10s", "size": "20m"}, emit={"bytes": "sum(bytes)"})
    traffic.top_k(100, by="bytes").sink("out", topic="top-talkers", at="noc")
    graph = flow.graph()

An operator that gets no `name` is called by its op and a number, such as `filter-1`. What is not given has the default
of the file (docs/flows.md). Nothing is checked before `graph`, `spec` or `to_yaml` is called; then everything is, at
once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from topics.expressions import FieldType
from topics.flow.document import Value
from topics.flow.file import check_values
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError, Problems
from topics.flow.specs import Codec, Delivery, FlowSpec, JoinKind, MovePolicy, Order, StateStore, TimeUnit
from topics.flow.write import to_yaml

Setting = str | int | float | bool
Fields = Mapping[str, str]
"""From a field's name to the expression that computes it."""


class Flow:
    """Collects sources, operators and sinks."""

    def __init__(
        self,
        name: str,
        *,
        latency_ms: float | None = None,
        weight: float | None = None,
        availability: float | None = None,
        delivery: Delivery | None = None,
        park_after: int | None = None,
        state: StateStore | None = None,
        moves: MovePolicy | None = None,
        pause_budget: str | None = None,
    ) -> None:
        qos = _given(latency_ms=latency_ms, weight=weight, availability=availability)
        self.name = name
        self._head = _given(flow=name, qos=qos or None, delivery=delivery, park_after=park_after)
        self._head |= _given(state=state, moves=moves, pause_budget=pause_budget)
        self._sections: dict[str, dict[str, Value]] = {"sources": {}, "operators": {}, "sinks": {}}
        self._twice: list[tuple[str, str]] = []

    def source(
        self,
        name: str,
        *,
        topic: str,
        at: str | None = None,
        key: str | None = None,
        event_time: str | None = None,
        time_unit: TimeUnit | None = None,
        lateness: str | None = None,
        idle: str | None = None,
        codec: Codec | None = None,
        partitions: int | None = None,
        schema: Mapping[str, FieldType] | None = None,
    ) -> "Stream":
        """A Kafka topic that records come from."""
        values = _given(topic=topic, at=at, key=key, event_time=event_time, time_unit=time_unit, lateness=lateness)
        values |= _given(idle=idle, codec=codec, partitions=partitions, schema=schema)
        return self._add("sources", name, values)

    def union(self, *streams: "Stream", name: str | None = None) -> "Stream":
        """All records of all these streams."""
        return self._operator("union", name, inputs=[self._own(stream) for stream in streams])

    def spec(self) -> FlowSpec:
        """What has been written, checked. Raises FlowError with everything that is wrong."""
        return self.graph().spec

    def graph(self) -> FlowGraph:
        """The compiled flow. Raises FlowError with everything that is wrong."""
        problems = Problems()
        for section, name in self._twice:
            problems.add((section, name), "the name is given twice; choose another")
        graph = check_values({**self._head, **self._sections}, problems)
        if graph is None or problems.found:
            raise FlowError(problems.found, filename=f"flow {self.name}")
        return graph

    def to_yaml(self) -> str:
        """The same flow as a file."""
        return to_yaml(self.spec())

    def _operator(self, op: str, name: str | None, **values: object) -> "Stream":
        operators = self._sections["operators"]
        number = len(operators) + 1
        while name is None and f"{op}-{number}" in operators:
            number += 1
        head = {} if op == "python" else {"op": op}
        return self._add("operators", name or f"{op}-{number}", {**head, **_given(**values)})

    def _add(self, section: str, name: str, values: dict[str, Value]) -> "Stream":
        if name in self._sections[section]:
            self._twice.append((section, name))
        self._sections[section][name] = values
        return Stream(self, name)

    def _own(self, stream: "Stream") -> str:
        if stream.flow is not self:
            raise ValueError(f"{stream.name!r} is a stream of the flow {stream.flow.name!r}, not of {self.name!r}")
        return stream.name


@dataclass(frozen=True, slots=True)
class Stream:
    """What flows out of a source, an operator or a split's route; its methods say what reads it."""

    flow: Flow
    name: str

    def filter(self, where: str, *, name: str | None = None) -> "Stream":
        """The records for which `where` is true."""
        return self.flow._operator("filter", name, input=self.name, where=where)

    def project(self, fields: Sequence[str] | Fields, *, name: str | None = None) -> "Stream":
        """Records with these fields and no others."""
        return self.flow._operator("project", name, input=self.name, fields=fields)

    def map(self, set: Fields | None = None, *, drop: Sequence[str] | None = None, name: str | None = None) -> "Stream":
        """Records with the fields of `set` added or replaced and those of `drop` removed."""
        return self.flow._operator("map", name, input=self.name, set=set, drop=drop)

    def flat_map(self, each: str, *, into: str, name: str | None = None) -> "Stream":
        """One record for each element of the list `each`, with the element in the field `into`."""
        return self.flow._operator("flat_map", name, input=self.name, each=each, into=into)

    def split(self, routes: Fields, *, otherwise: str | None = None, name: str | None = None) -> "Split":
        """The first route whose condition is true takes the record. Read one with `split["route"]`."""
        made = self.flow._operator("split", name, input=self.name, routes=routes, otherwise=otherwise)
        return Split(self.flow, made.name)

    def dedupe(self, *, by: Sequence[str], within: str, name: str | None = None) -> "Stream":
        """The first record of each `by` within a span of time."""
        return self.flow._operator("dedupe", name, input=self.name, by=by, within=within)

    def aggregate(
        self, *, by: Sequence[str], emit: Fields, window: Mapping[str, str] | None = None, name: str | None = None
    ) -> "Stream":
        """One result for each `by` and window; `emit` maps its fields to aggregations such as `sum(bytes)`."""
        return self.flow._operator("aggregate", name, input=self.name, by=by, window=window, emit=emit)

    def join(
        self,
        right: "Stream",
        *,
        on: Sequence[str] | Mapping[str, str],
        within: str,
        kind: JoinKind | None = None,
        emit: Fields | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Pairs of a record of this stream and one of `right` with equal `on`, near in time."""
        other = self.flow._own(right)
        return self.flow._operator(
            "join", name, left=self.name, right=other, on=on, within=within, kind=kind, emit=emit
        )

    def top_k(
        self,
        k: int,
        *,
        by: str,
        per: Sequence[str] | None = None,
        order: Order | None = None,
        window: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> "Stream":
        """The `k` records with the largest `by`, for each `per` and window."""
        return self.flow._operator("top_k", name, input=self.name, k=k, by=by, per=per, order=order, window=window)

    def python(
        self,
        call: str,
        *,
        state: bool | None = None,
        by: Sequence[str] | None = None,
        blocking: bool | None = None,
        timeout: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        name: str | None = None,
    ) -> "Stream":
        """A function of your own, named as `module:function`."""
        values = {"input": self.name, "state": state, "by": by, "blocking": blocking, "timeout": timeout}
        return self.flow._operator("python", name, python=call, **values, settings=settings)

    def sink(
        self, name: str, *, topic: str, at: str | None = None, key: str | None = None, codec: Codec | None = None
    ) -> None:
        """Write this stream to a Kafka topic."""
        self.flow._add("sinks", name, _given(input=self.name, topic=topic, at=at, key=key, codec=codec))


@dataclass(frozen=True, slots=True)
class Split:
    """A split itself cannot be read, only its routes."""

    flow: Flow
    name: str

    def __getitem__(self, route: str) -> Stream:
        return Stream(self.flow, f"{self.name}.{route}")


def _given(**values: object) -> dict[str, Value]:
    """Those that are not None, as the plain values that a file would have."""
    return {key: _plain(value) for key, value in values.items() if value is not None}


def _plain(value: object) -> Value:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return cast(Value, value)
