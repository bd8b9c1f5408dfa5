"""From the plain values of a flow (a file's, or a builder's) to its specs, noting every problem on the way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from topics.expressions import FieldType, nearest_word
from topics.flow.document import Value
from topics.flow.limits import (
    FIELDS_MAX,
    LATENCY_MS_MAX,
    OPERATORS_MAX,
    PARK_AFTER_MAX,
    PARTITIONS_MAX,
    SINKS_MAX,
    SOURCES_MAX,
    WEIGHT_MAX,
)
from topics.flow.problems import Path, Problems, one_of
from topics.flow.read_operators import read_operator
from topics.flow.section import Section, kind_of, shown
from topics.flow.specs import (
    PARK_AFTER,
    PAUSE_BUDGET_MS,
    Codec,
    Delivery,
    FlowSpec,
    MovePolicy,
    Qos,
    Sink,
    Source,
    StateStore,
    TimeUnit,
)
from topics.flow.words import FIELD_PATH, FLOW_NAME, HOST, NAME, REFERENCE, topic_fault

_SOURCE = Source(name="", topic="")
_SINK = Sink(name="", input="", topic="")
"""For their defaults."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. With problems it serves further checks only.

    `unread` are operators of which it cannot be told what they are, with the inputs they seem to have.
    """

    spec: FlowSpec
    unread: Mapping[str, tuple[str, ...]]


def read_flow(value: Value, problems: Problems) -> Reading:
    """Reads to the end, whatever is wrong."""
    keys = ("flow", "qos", "delivery", "park_after", "state", "moves", "pause_budget", "sources", "operators", "sinks")
    section = Section(value, (), problems, what="the flow", keys=keys)
    operators = [
        (str(path[-1]), read_operator(value, path, problems), _seeming_inputs(value))
        for path, value in _named(section, "operators", OPERATORS_MAX, least=0)
    ]
    spec = FlowSpec(
        name=section.word("flow", FLOW_NAME),
        sources=tuple(_source(value, path, problems) for path, value in _named(section, "sources", SOURCES_MAX)),
        operators=tuple((name, spec) for name, spec, _ in operators if spec is not None),
        sinks=tuple(_sink(value, path, problems) for path, value in _named(section, "sinks", SINKS_MAX)),
        qos=_qos(section),
        delivery=cast(Delivery, section.choice("delivery", Delivery, "at_least_once")),
        park_after=section.whole("park_after", minimum=1, maximum=PARK_AFTER_MAX, default=PARK_AFTER),
        moves=cast(MovePolicy, section.choice("moves", MovePolicy, "auto")),
        pause_budget_ms=section.duration("pause_budget", default_ms=PAUSE_BUDGET_MS),
        state=cast(StateStore, section.choice("state", StateStore, "memory")),
    )
    return Reading(spec, {name: inputs for name, spec, inputs in operators if spec is None})


def _seeming_inputs(value: Value) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    listed = value.get("inputs")
    found = [value.get("input"), value.get("left"), value.get("right"), *(listed if isinstance(listed, list) else [])]
    return tuple(name for name in found if isinstance(name, str))


def _named(section: Section, key: str, most: int, *, least: int = 1) -> list[tuple[Path, Value]]:
    entries = section.entries(key, f"a mapping from names to {key}", most=most, word=NAME, least=least)
    return [((*section.path, key, name), value) for name, value in entries[:most]]


def _qos(section: Section) -> Qos:
    if not section.has("qos"):
        return Qos()
    keys = ("latency_ms", "weight", "availability")
    inner = Section(section.values["qos"], ("qos",), section.problems, what="qos", keys=keys)
    latency_ms = availability = None
    if inner.has("latency_ms"):
        expected = f"milliseconds above 0, at most {LATENCY_MS_MAX:,}"
        latency_ms = inner.number("latency_ms", expected, lambda n: 0 < n <= LATENCY_MS_MAX, default=None)
    if inner.has("availability"):
        availability = inner.number(
            "availability", "a share between 0 and 1, such as 0.99", lambda n: 0 < n < 1, default=None
        )
    weight = inner.number(
        "weight", f"a number above 0, at most {WEIGHT_MAX:,}", lambda n: 0 < n <= WEIGHT_MAX, default=1.0
    )
    return Qos(latency_ms, weight, availability)


_SOURCE_KEYS = (
    "topic", "at", "key", "event_time", "time_unit", "lateness", "idle", "codec", "partitions", "schema",
)  # fmt: skip


def _source(value: Value, path: Path, problems: Problems) -> Source:
    section = Section(value, path, problems, what="a source", keys=_SOURCE_KEYS)
    event_time = section.optional_word("event_time", FIELD_PATH)
    if section.has("time_unit") and event_time is None:
        section.wrong("time_unit", "has no effect without 'event_time'; name the field that holds the time")
    return Source(
        name=str(path[-1]),
        topic=_topic(section),
        at=section.optional_word("at", HOST),
        key=section.optional_word("key", FIELD_PATH),
        event_time=event_time,
        time_unit=cast(TimeUnit, section.choice("time_unit", TimeUnit, _SOURCE.time_unit)),
        lateness_ms=section.duration("lateness", default_ms=_SOURCE.lateness_ms, minimum_ms=0),
        idle_ms=section.duration("idle", default_ms=_SOURCE.idle_ms),
        codec=cast(Codec, section.choice("codec", Codec, _SOURCE.codec)),
        partitions=section.whole("partitions", minimum=1, maximum=PARTITIONS_MAX)
        if section.has("partitions")
        else None,
        schema=_schema(section),
    )


def _schema(section: Section) -> tuple[tuple[str, FieldType], ...]:
    fields: list[tuple[str, FieldType]] = []
    types: tuple[str, ...] = get_args(FieldType)
    for name, value in section.entries(
        "schema", "field names and their types", most=FIELDS_MAX, word=FIELD_PATH, least=0
    ):
        if isinstance(value, str) and value in types:
            fields.append((name, cast(FieldType, value)))
        else:
            near = nearest_word(value, types) if isinstance(value, str) else None
            path = (*section.path, "schema", name)
            section.problems.add(path, f"is {shown(value)}", expected=one_of(types), nearest=near)
    return tuple(fields)


def _sink(value: Value, path: Path, problems: Problems) -> Sink:
    section = Section(value, path, problems, what="a sink", keys=("input", "topic", "at", "key", "codec"))
    return Sink(
        name=str(path[-1]),
        input=section.word("input", REFERENCE),
        topic=_topic(section),
        at=section.optional_word("at", HOST),
        key=section.optional_word("key", FIELD_PATH),
        codec=cast(Codec, section.choice("codec", Codec, _SINK.codec)),
    )


def _topic(section: Section) -> str:
    topic = section.values.get("topic")
    if not section.has("topic"):
        section.missing("topic", "the name of a Kafka topic")
    elif not isinstance(topic, str):
        section.wrong(
            "topic", f"is {kind_of(topic)}", expected="the name of a Kafka topic (quote it if it is a number)"
        )
    elif fault := topic_fault(topic):
        section.wrong("topic", fault)
    return topic if isinstance(topic, str) else ""
