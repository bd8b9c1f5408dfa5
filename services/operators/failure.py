"""A failure: one record that could not be processed, kept with the reason instead of raised.

The host sends it to the flow's dead-letter topic; `flow run` counts and shows it. The other records of the batch go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ERROR_LENGTH_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Failure:
    """`operator` is the operator, source or sink that gave up; `offset` is that of the origin record, or DERIVED."""

    operator: str
    offset: int
    error: str
    value: Any
    attempts: int = 1


def describe(error: BaseException) -> str:
    """An exception in one line, cut to a sane length: `KeyError: 'price'`."""
    return f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]


def without(column: Sequence[Any], positions: set[int]) -> list[Any]:
    """A column without the failed positions."""
    return [each for i, each in enumerate(column) if i not in positions]
