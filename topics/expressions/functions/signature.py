"""What a function of the language is: its signature for the checker and the plain Python callable behind it.

The callable takes values that were never checked. It returns a value that is never null, or raises one of `FAULTS`;
the compiled forms make null of that. It must be total otherwise: bounded time, bounded result, no state, no clock, no
locale.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from topics.expressions.kinds import Kinds

FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What Python raises where the language says null: a wrong type, a missing field, division by zero, a number out of
range.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """One function. The last `optional` parameters may be left out; with `repeats` the last one may come again and
    again.

    `returns` None means: one of its arguments. `literals` checks constant arguments (by position) while parsing: it
    raises ValueError with what was expected.
    """

    name: str
    parameters: tuple[Kinds, ...]
    returns: Kinds | None
    call: Callable[..., Any]
    usage: str
    optional: int = 0
    repeats: bool = False
    wide: bool = False
    """Whether an integer that it returns can be as large as its arguments, outside 64 bits."""
    literals: Mapping[int, Callable[[Any], object]] = field(default_factory=dict)

    def accepts(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        fewest = len(self.parameters) - self.optional
        return fewest <= count and (self.repeats or count <= len(self.parameters))

    def parameter(self, position: int) -> Kinds:
        """The kinds accepted at a position."""
        return self.parameters[min(position, len(self.parameters) - 1)]
