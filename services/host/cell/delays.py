"""Delays: how long data takes between any two hosts, as far as somebody has measured it. Pure.

Every host publishes the round trips that it measured; half of one is the delay of the pair, both ways. Until a pair has
been measured it is taken for as far apart as its regions are, and else for a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

SAME_REGION_MS = 2.0
OTHER_REGION_MS = 20.0
"""Guesses, until the first probe has come back."""

Pair = tuple[str, str]


def pair_of(a: str, b: str) -> Pair:
    """The same for both directions."""
    return (a, b) if a <= b else (b, a)


@dataclass(slots=True)
class Delays:
    """`version` counts up with every change. `regions` of all known hosts must be kept up to date by its owner."""

    regions: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    _measured: dict[Pair, float] = field(default_factory=dict)
    _between: dict[Pair, float] = field(default_factory=dict)

    def measured(self, a: str, b: str, delay_ms: float) -> None:
        """Somebody measured a pair."""
        self._measured[pair_of(a, b)] = delay_ms
        self._between.clear()
        self.version += 1

    def forget(self, host: str) -> None:
        """A host is gone; if it returns, it may stand elsewhere."""
        self._measured = {pair: delay for pair, delay in self._measured.items() if host not in pair}
        self._between.clear()
        self.version += 1

    def is_measured(self, a: str, b: str) -> bool:
        """Whether this is more than a guess."""
        return pair_of(a, b) in self._measured

    def delay_ms(self, a: str, b: str) -> float:
        """One way, from a to b."""
        if a == b:
            return 0.0
        known = self._measured.get(pair_of(a, b))
        return known if known is not None else self._guess_ms(a, b)

    def _guess_ms(self, a: str, b: str) -> float:
        regions = pair_of(self.regions.get(a, ""), self.regions.get(b, ""))
        if regions not in self._between:
            alike = [
                delay_ms
                for (one, other), delay_ms in self._measured.items()
                if pair_of(self.regions.get(one, ""), self.regions.get(other, "")) == regions
            ]
            guess = SAME_REGION_MS if regions[0] == regions[1] else OTHER_REGION_MS
            self._between[regions] = median(alike) if alike else guess
        return self._between[regions]
