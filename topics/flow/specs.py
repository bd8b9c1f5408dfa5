"""What each part of a flow says, after parsing: sources, operators, sinks, quality of service.

These are plain values without behaviour. `topics.flow.file` makes them from YAML, `topics.flow.builder` from Python
calls, `topics.flow.compile` joins them to a graph, and `services.operators` turns each operator spec into code over
batches. Times and sizes are integers of milliseconds. What each operator computes is told in its file under
`services/operators/`.
"""

from dataclasses import dataclass, field
from typing import Literal

from topics.expressions import AggregateFunction, Expression, FieldType

Codec = Literal["json", "msgpack"]
TimeUnit = Literal["ns", "us", "ms", "s", "iso"]
WindowEmit = Literal["close", "change"]
JoinKind = Literal["inner", "left", "outer"]
Order = Literal["desc", "asc"]
Delivery = Literal["at_least_once", "exactly_once"]
MovePolicy = Literal["auto", "approve", "freeze"]
PAUSE_BUDGET_MS = 10_000
StateStore = Literal["memory", "disk"]

CALL_TIMEOUT_MS = 10_000
PARK_AFTER = 1_000


@dataclass(frozen=True, slots=True)
class Qos:
    """What the flow's owner asks for; placement answers for it."""

    latency_ms: float | None = None
    weight: float = 1.0
    availability: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A Kafka topic that records come from. `at` pins it to a host; without `event_time` Kafka's timestamp counts."""

    name: str
    topic: str
    at: str | None = None
    key: str | None = None
    event_time: str | None = None
    time_unit: TimeUnit = "ms"
    lateness_ms: int = 1_000
    idle_ms: int = 30_000
    codec: Codec = "json"
    partitions: int | None = None
    schema: tuple[tuple[str, FieldType], ...] = ()


@dataclass(frozen=True, slots=True)
class Sink:
    """A Kafka topic that results go to. `key` names the field that becomes the record's key, else the key is kept."""

    name: str
    input: str
    topic: str
    at: str | None = None
    key: str | None = None
    codec: Codec = "json"


@dataclass(frozen=True, slots=True)
class Window:
    """Tumbling: size. Hopping: size and hop. Session: gap alone. Starts are multiples of the hop since the epoch."""

    size_ms: int | None = None
    hop_ms: int | None = None
    gap_ms: int | None = None
    emit: WindowEmit = "close"

    def __post_init__(self) -> None:
        assert (self.size_ms is None) != (self.gap_ms is None), self
        assert self.hop_ms is None or self.size_ms is not None, self


@dataclass(frozen=True, slots=True)
class Filter:
    """`where`: keep the records for which it is true."""

    input: str
    where: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """`fields`: the output has these fields and no others, each computed from the input."""

    input: str
    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Map:
    """`set`: add or replace these fields; `drop`: remove these; the rest stays."""

    input: str
    set: tuple[tuple[str, Expression], ...] = ()
    drop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlatMap:
    """`each`: a list; one output for each element, which stands in the field `into`."""

    input: str
    each: Expression
    into: str


@dataclass(frozen=True, slots=True)
class Split:
    """`routes`: the first that is true takes the record; `otherwise` is the route for the rest. Read: `name.route`."""

    input: str
    routes: tuple[tuple[str, Expression], ...]
    otherwise: str | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """All records of all inputs."""

    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dedupe:
    """The first record of each `by`; later ones within `within_ms` of it are dropped."""

    input: str
    by: tuple[str, ...]
    within_ms: int


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One output field of an aggregate: `function` over `argument` (None only for count())."""

    name: str
    function: AggregateFunction
    argument: Expression | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One result for each `by` and window. Without a window: a running result, emitted on every change."""

    input: str
    by: tuple[str, ...]
    emit: tuple[Aggregation, ...]
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of a left and a right record with equal `on` and event times at most `within_ms` apart.

    `on` holds (left field, right field) pairs. `emit` computes the output from an object with the fields `left` and
    `right`; without it the output is the left `on` fields with `left` and `right` as nested objects.
    """

    left: str
    right: str
    on: tuple[tuple[str, str], ...]
    within_ms: int
    kind: JoinKind = "inner"
    emit: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class TopK:
    """The `k` records with the largest (or smallest) `by`, for each `per` and window, with their `rank` from 1.

    Without a window of its own it ranks the windows of the aggregate before it.
    """

    input: str
    k: int
    by: Expression
    per: tuple[str, ...] = ()
    order: Order = "desc"
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Python:
    """A user's `module:function`. `state`: it gets a dictionary for each `by`; `blocking`: it waits, so call several at
    a time; `timeout_ms`: a call that takes longer has failed.
    """

    input: str
    call: str
    state: bool = False
    by: tuple[str, ...] = ()
    blocking: bool = False
    timeout_ms: int = CALL_TIMEOUT_MS
    settings: tuple[tuple[str, str | int | float | bool], ...] = field(default=())


OperatorSpec = Filter | Project | Map | FlatMap | Split | Union | Dedupe | Aggregate | Join | TopK | Python


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A whole flow as its user wrote it, in the order of the file. Operators carry their names beside them.

    `park_after`: so many records in a row that one of its parts could not process stop the segment.
    `moves`: whether plans are carried out at once, when a person approves them, or not at all once the flow runs.
    `pause_budget_ms`: how long one of its partitions may pause for moves within an hour.
    """

    name: str
    sources: tuple[Source, ...]
    operators: tuple[tuple[str, OperatorSpec], ...]
    sinks: tuple[Sink, ...]
    qos: Qos = field(default_factory=Qos)
    delivery: Delivery = "at_least_once"
    park_after: int = PARK_AFTER
    moves: MovePolicy = "auto"
    pause_budget_ms: int = PAUSE_BUDGET_MS
    state: StateStore = "memory"
