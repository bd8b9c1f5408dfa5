"""Micro-batches as Spark would give them, without Spark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from confluent_kafka import TopicPartition

from services.modelling.rows import Rows, Sums
from services.modelling.sums import COLUMNS, SEPARATOR
from topics.catalogue import MODELS
from topics.messages import FlowRevision

Record = tuple[int, str, bytes | None]
"""When it was appended (ms), its key and its value."""
Cells = Mapping[tuple[str, ...], Mapping[int, Mapping[str, float]]]


def sums(kind: str, cells: Cells) -> Sums:
    """From {seat: {second: {sum: value}}}; each was appended half a second after its end."""
    flat = [(SEPARATOR.join(seat), second, told) for seat, seconds in cells.items() for second, told in seconds.items()]
    values = np.array([[told.get(name, 0.0) for _, _, told in flat] for name in COLUMNS[kind]])
    seconds = np.array([second for _, second, _ in flat], dtype=np.int64)
    return Sums([name for name, _, _ in flat], seconds, values, seconds * 1_000 + 1_500)


@pytest.fixture
def batch() -> Callable[..., Rows]:
    """`batch(appended_s, operator={...}, link={...})`."""

    def make(appended_s: float, **kinds: Cells) -> Rows:
        return Rows({kind: sums(kind, kinds.get(kind, {})) for kind in COLUMNS}, (), int(appended_s * 1_000))

    return make


@pytest.fixture
def revision() -> Callable[..., FlowRevision]:
    """`revision(number, changed_ms, bound_ms=...)` of the flow `talk`."""

    def make(number: int, changed_ms: int, *, bound_ms: int = 100, state: str = "submitted") -> FlowRevision:
        text = (
            f"flow: talk\nqos: {{latency_ms: {bound_ms}}}\nsources:\n  packets: {{topic: packets}}\noperators:\n"
            "  tcp: {op: filter, input: packets, where: \"proto == 'tcp'\"}\nsinks:\n  out: {input: tcp, topic: out}\n"
        )
        return FlowRevision(
            flow="talk", revision=number, state=state, text=text, delivery="at_least_once", changed_ms=changed_ms
        )

    return make


@pytest.fixture
def topic_of_models(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, Sequence[Record] | None], None]:
    """`topic_of_models(module, records)`: what this module reads of a broker; None: it has not even the topic."""

    def play(module: ModuleType, records: Sequence[Record] | None) -> None:
        topics = {MODELS.name: SimpleNamespace(partitions={0: None})} if records is not None else {}
        kept = records or ()

        @contextmanager
        def reader(bootstrap: str) -> Iterator[Any]:
            yield SimpleNamespace(list_topics=lambda timeout: SimpleNamespace(topics=topics))

        def offsets_since(consumer: Any, asked: Sequence[TopicPartition]) -> list[TopicPartition]:
            return [
                TopicPartition(at.topic, at.partition, next((n for n, each in enumerate(kept) if each[0] >= ms), -1))
                for at in asked
                for ms in (at.offset,)
            ]

        def read_to_end(
            consumer: Any,
            places: Sequence[TopicPartition],
            *,
            starts: Callable[[TopicPartition], int] = lambda at: 0,
            stops: Callable[[TopicPartition], int] = lambda at: len(kept),
        ) -> Iterator[Any]:
            for at in places:
                for offset, (_, key, value) in enumerate(kept[starts(at) : stops(at)], start=starts(at)):
                    yield SimpleNamespace(key=key.encode, value=lambda told=value: told, offset=lambda n=offset: n)

        for name, played in (("reader", reader), ("offsets_since", offsets_since), ("read_to_end", read_to_end)):
            monkeypatch.setattr(module, name, played)

    return play
