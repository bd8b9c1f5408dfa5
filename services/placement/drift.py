"""Whether the world is still the one that a plan was made for: what its leader told then against what it tells now.

Grounds are figures by name (services/host/cell/plan_grounds.py); the last part of a name is the unit. A delay or a cost
that moved by less than it can be measured is the same, and so is the load of a host that is far from full. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DriftParams:
    """`share`: a figure that changed by more than this share of the larger one is another.

    `delay_ms`, `busy_share` and `rate_per_s` are what a figure may change in any case.
    """

    share: float = 0.15
    delay_ms: float = 3.0
    busy_share: float = 0.15
    rate_per_s: float = 1.0

    def __post_init__(self) -> None:
        assert 0 < self.share < 1, self
        assert min(self.delay_ms, self.busy_share, self.rate_per_s) >= 0, self

    def least(self, name: str) -> float:
        """By how much a figure may change however small it is."""
        floors = {"rate_per_s": self.rate_per_s, "busy_share": self.busy_share}
        return floors.get(name.rpartition(".")[2], self.delay_ms)


def drifted(then: Mapping[str, float], now: Mapping[str, float], params: DriftParams) -> list[str]:
    """What has changed, in words, the largest change first; what only one side knows can't be compared."""
    changes = []
    for name in sorted(then.keys() & now.keys()):
        before, after = then[name], now[name]
        change = abs(after - before)
        share = change / max(before, after, 1e-12)
        if share > params.share and change > params.least(name):
            changes.append((share, f"{_words(name)} {_figure(name, before)} then and {_figure(name, after)} now"))
    return [words for _, words in sorted(changes, key=lambda each: (-each[0], each[1]))]


def _words(name: str) -> str:
    subject, _, unit = name.rpartition(".")
    match unit:
        case "rate_per_s":
            return f"source {subject} gave"
        case "delay_ms":
            return f"the way {subject} took"
        case "busy_share":
            return f"host {subject} was busy for"
        case _:
            return "the flow where it runs cost"


def _figure(name: str, value: float) -> str:
    match name.rpartition(".")[2]:
        case "rate_per_s":
            return f"{value:.1f} records/s"
        case "busy_share":
            return f"{value:.0%} of its time"
        case _:
            return f"{value:.1f} ms"
