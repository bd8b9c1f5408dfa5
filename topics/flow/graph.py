"""A flow after compiling: operators with typed outputs, the edges between them, and the segments that run them.

`topics.flow.compile` makes these values. Everything is in topological order: what stands earlier never reads what
stands later.
"""

from dataclasses import dataclass
from typing import Literal

from topics.flow.partitioning import Partitioning
from topics.flow.schema import Schema
from topics.flow.specs import FlowSpec, OperatorSpec, Window

EdgeKind = Literal["source", "fused", "rekey", "handover", "sink"]


@dataclass(frozen=True, slots=True)
class Stream:
    """What flows out of a source or an operator (of a split: out of one route)."""

    schema: Schema
    partitioning: Partitioning
    identity: str
    window: Window | None = None
    """The window whose results these are, if they are such."""


@dataclass(frozen=True, slots=True)
class Rekey:
    """Records change partition here, by a hash of these fields of theirs; without fields all go to one partition."""

    by: tuple[str, ...]
    partitions: int
    reason: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Records go from a source or operator to an operator or sink.

    `port` is the key under which the target names this input: `input`, `left`, `right`, or `inputs[0]`, `inputs[1]`...
    Kinds: `source` reads a source's topic, `fused` stays inside a segment, `sink` writes to a sink's topic; `rekey` and
    `handover` go through an edge topic, the one with new partitions, the other with the same.
    """

    upstream: str
    route: str | None
    target: str
    port: str
    kind: EdgeKind
    rekey: Rekey | None = None

    @property
    def stream(self) -> str:
        """The stream that it carries, as a flow file names it: `tcp`, or `sizes.big` for a route."""
        return self.upstream if self.route is None else f"{self.upstream}.{self.route}"

    @property
    def port_number(self) -> int:
        """The port as a number from 0, in the order in which the target's spec names its inputs."""
        if self.port.startswith("inputs["):
            return int(self.port[len("inputs[") : -1])
        return int(self.port == "right")


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator in its place in the graph. `outputs` has one stream, under None; a split has one for each route.

    `inserted`: not in the file. It reads a source for an edge that re-keys it, or for a sink that reads it directly.
    """

    name: str
    spec: OperatorSpec
    identity: str
    outputs: tuple[tuple[str | None, Stream], ...]
    inserted: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """Operators that run fused, as one Faust app. `id` is the same in every process and every run.

    `partitions` is how many tasks it has; None when a source's partition count is not known before the broker is asked.
    """

    id: str
    operators: tuple[str, ...]
    inputs: tuple[Edge, ...]
    outputs: tuple[Edge, ...]
    partitions: int | None


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """The whole flow, ready to be drawn, placed and run. `notes` are remarks for its author, none of them an error."""

    spec: FlowSpec
    sources: tuple[tuple[str, Stream], ...]
    operators: tuple[Operator, ...]
    edges: tuple[Edge, ...]
    segments: tuple[Segment, ...]
    notes: tuple[str, ...]

    def stream(self, reference: str) -> Stream:
        """The stream that a flow file calls by this name: a source, an operator, or a split's route."""
        name, _, route = reference.partition(".")
        sources = dict(self.sources)
        return sources[name] if name in sources else dict(self.operator(name).outputs)[route or None]

    def operator(self, name: str) -> Operator:
        return next(operator for operator in self.operators if operator.name == name)

    def edges_into(self, name: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.target == name)

    def edges_from(self, name: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.upstream == name)
