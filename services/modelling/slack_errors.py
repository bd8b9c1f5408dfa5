"""How far off slack forecasts are: each is held against the slack of its own second, as soon as that was measured, also
where there are models of some seconds only.

Not against the mean of the last seconds, which is what slack is told over: of a second that breaks the bound nothing
would be left in it, and a forecast that saw it coming would look wrong.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from services.modelling.ring import Array, Indices

KEEP = 0.98
"""What an error keeps of itself when the next one comes: fifty count."""


class SlackErrors:
    """`score` what was measured, then `note` what is forecast; `of` flows: mean sizes of errors by horizon."""

    def __init__(self, horizons_s: tuple[int, ...]) -> None:
        self._horizons_s = horizons_s
        self._places: dict[str, int] = {}
        self._due: tuple[deque[tuple[int, Indices, Array]], ...] = tuple(deque() for _ in horizons_s)
        """For each horizon: the second, the places of flows, and the slack forecast for each."""
        self._sums = np.zeros((2, 0, len(horizons_s)))
        """[sum of errors, number of them; flow; horizon]."""
        self._scored = np.zeros(0, dtype=np.int64)
        """Of each flow the last second that forecasts were held against."""

    def score(self, second: int, flows: Sequence[str], slack_ms: Array) -> None:
        """`slack_ms`: [flow, second] of those up to this one, NaN where nothing was measured. Each counts once."""
        known = [(self._places[flow], row) for row, flow in enumerate(flows) if flow in self._places]
        places = np.array([place for place, _ in known], dtype=np.int64)
        begin = second - slack_ms.shape[1] + 1
        for due in self._due:
            while due and due[0][0] < begin:
                due.popleft()
        for at, measured_ms in enumerate(slack_ms[[row for _, row in known]].T, start=begin):
            is_new = (at > self._scored[places]) & np.isfinite(measured_ms)
            if is_new.any():
                self._scored[places[is_new]] = at
                self._judge(at, places[is_new], measured_ms[is_new])

    def _judge(self, second: int, places: Indices, slack_ms: Array) -> None:
        now = np.full(len(self._places), np.nan)
        now[places] = slack_ms
        for horizon, due in enumerate(self._due):
            for at, told_of, told in due:
                if at == second:
                    off = np.abs(told - now[told_of])
                    judged, off = told_of[np.isfinite(off)], off[np.isfinite(off)]
                    self._sums[:, judged, horizon] = self._sums[:, judged, horizon] * KEEP + (off, np.ones(len(off)))

    def note(self, second: int, flows: Sequence[str], ahead_ms: Array) -> None:
        """`ahead_ms`: [flow, horizon], forecast at this second."""
        places = self._find(flows)
        for horizon, horizon_s in enumerate(self._horizons_s):
            if not self._due[horizon] or self._due[horizon][-1][0] < second + horizon_s:
                self._due[horizon].append((second + horizon_s, places, ahead_ms[:, horizon]))

    def of(self, flows: Sequence[str]) -> Array:
        """[flow, horizon]; NaN where no forecast has come due."""
        places = self._find(flows)
        total, count = self._sums[:, places]
        with np.errstate(invalid="ignore"):
            return np.asarray(total / count)

    def keep(self, flows: set[str]) -> None:
        """Forgets all others, and what is still due if there are any: places change."""
        stay = [flow for flow in self._places if flow in flows]
        if len(stay) < len(self._places):
            places = [self._places[flow] for flow in stay]
            self._sums, self._scored = self._sums[:, places], self._scored[places]
            self._places = {flow: place for place, flow in enumerate(stay)}
            for due in self._due:
                due.clear()

    def _find(self, flows: Sequence[str]) -> Indices:
        fresh = [flow for flow in flows if flow not in self._places]
        if fresh:
            self._places |= {flow: place for place, flow in enumerate(fresh, start=len(self._places))}
            self._sums = np.pad(self._sums, ((0, 0), (0, len(fresh)), (0, 0)))
            self._scored = np.pad(self._scored, (0, len(fresh)))
        return np.array([self._places[flow] for flow in flows], dtype=np.int64)
