"""Micro-batches as Spark would give them, without Spark."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from services.modelling.rows import Rows, Sums
from services.modelling.sums import COLUMNS, SEPARATOR

Cells = Mapping[tuple[str, ...], Mapping[int, Mapping[str, float]]]


def sums(kind: str, cells: Cells) -> Sums:
    """From {seat: {second: {sum: value}}}."""
    flat = [(SEPARATOR.join(seat), second, told) for seat, seconds in cells.items() for second, told in seconds.items()]
    values = np.array([[told.get(name, 0.0) for _, _, told in flat] for name in COLUMNS[kind]])
    return Sums([name for name, _, _ in flat], np.array([second for _, second, _ in flat], dtype=np.int64), values)


@pytest.fixture
def batch() -> Callable[..., Rows]:
    """`batch(appended_s, operator={...}, link={...})`."""

    def make(appended_s: float, **kinds: Cells) -> Rows:
        return Rows({kind: sums(kind, kinds.get(kind, {})) for kind in COLUMNS}, (), int(appended_s * 1_000))

    return make
