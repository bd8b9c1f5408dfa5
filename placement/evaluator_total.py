"""A sum that can forget: terms come and go, and the value is always the rounded sum of those present.

Plain adding and subtracting would leave rounding behind; here the sum is kept as a few numbers that don't overlap
(Shewchuk's partials, as in `math.fsum`), so one changed term costs the same however many others there are, and
history leaves no trace.
"""

import math


class ExactTotal:
    """Terms by name."""

    def __init__(self) -> None:
        self._terms: dict[str, float] = {}
        self._partials: list[float] = []
        self._infinite = 0

    def set(self, name: str, term: float) -> None:
        """Put or replace one term."""
        self.drop(name)
        self._terms[name] = term
        self._add(term)

    def drop(self, name: str) -> None:
        """Take a term out, if it is there."""
        term = self._terms.pop(name, None)
        if term is not None:
            self._add(-term)

    @property
    def value(self) -> float:
        return math.inf if self._infinite else math.fsum(self._partials)

    def _add(self, term: float) -> None:
        if math.isinf(term):
            self._infinite += 1 if term > 0 else -1
            return
        kept = []
        for partial in self._partials:
            small, large = sorted((term, partial), key=abs)
            term = large + small
            rest = small - (term - large)
            if rest:
                kept.append(rest)
        self._partials = [*kept, term]
