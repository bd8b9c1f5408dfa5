"""Micro-batches as Spark would give them, without Spark."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from services.modelling.rows import Rows, Sums
from services.modelling.sums import COLUMNS, SEPARATOR
from topics.messages import FlowRevision

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
