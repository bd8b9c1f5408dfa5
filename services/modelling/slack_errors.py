"""How far off slack forecasts are: each is held against the slack that was measured when its second had come."""

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from services.modelling.ring import Array

KEEP = 0.98
"""What an error keeps of itself when the next one comes: fifty count."""


class SlackErrors:
    """`score` what was measured, then `note` what is forecast; `of` flows: mean sizes of errors by horizon."""

    def __init__(self, horizons_s: tuple[int, ...]) -> None:
        self._horizons_s = horizons_s
        self._due: tuple[deque[tuple[int, Mapping[str, float]]], ...] = tuple(deque() for _ in horizons_s)
        """For each horizon: the second, and the slack forecast for it."""
        self._sums: dict[str, Array] = {}
        """Of each flow: [sum of errors, number of them; horizon]."""

    def score(self, second: int, slack_ms: Mapping[str, float]) -> None:
        """What was measured in this second."""
        for place, due in enumerate(self._due):
            while due and due[0][0] < second:
                due.popleft()
            told = due.popleft()[1] if due and due[0][0] == second else {}
            for flow in told.keys() & slack_ms.keys():
                sums = self._sums.setdefault(flow, np.zeros((2, len(self._horizons_s))))
                sums[:, place] = sums[:, place] * KEEP + (abs(told[flow] - slack_ms[flow]), 1.0)

    def note(self, second: int, flows: Sequence[str], ahead_ms: Array) -> None:
        """`ahead_ms`: [flow, horizon], forecast at this second."""
        for place, horizon_s in enumerate(self._horizons_s):
            if not self._due[place] or self._due[place][-1][0] < second + horizon_s:
                told = dict(zip(flows, ahead_ms[:, place].tolist(), strict=True))
                self._due[place].append((second + horizon_s, told))

    def of(self, flows: Sequence[str]) -> Array:
        """[flow, horizon]; NaN where no forecast has come due."""
        nothing = np.zeros((2, len(self._horizons_s)))
        sums = np.array([self._sums.get(flow, nothing) for flow in flows]).reshape(len(flows), *nothing.shape)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums[:, 0] / sums[:, 1])

    def keep(self, flows: set[str]) -> None:
        """Forgets all others."""
        self._sums = {flow: sums for flow, sums in self._sums.items() if flow in flows}
