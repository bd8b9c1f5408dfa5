"""How warnings of hot spots come out, flow by flow, as flows come and go.

A warning counts from when it was told: what rests on a second may be told seconds after it, and a bound that broke in
between was foreseen for nobody.
"""

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from placement.fits.arrays import Flags
from placement.hotspots import Alarm, AlarmParams, VerdictParams, Verdicts

Company = Mapping[str, frozenset[tuple[str, str]]]


class FlowVerdicts:
    """`step` once a second; `hits`, `misses`, `false` and `leads_s` so far. `alarm`: what they say of its level."""

    def __init__(self, params: VerdictParams, alarm: AlarmParams | None = None) -> None:
        self.alarm = Alarm(alarm or AlarmParams())
        self._verdicts = Verdicts(1, 0, params)
        self._places: dict[str, int] = {}
        self._free: list[int] = []
        self._company: Company = {}
        self.second = 0
        """Of the last step; 0: there was none."""
        self._coming: deque[tuple[int, set[str]]] = deque()
        """Who is warned of, and from which second on anybody knows it."""

    def told(self, second: int, late_s: float) -> None:
        """What was foreseen with the step of this second was told so long after it; without this word, at once.

        What breaks in the very second in which it was told nobody was warned of in time."""
        if self._coming and self.second == second:
            self._coming[-1] = second + math.ceil(late_s), self._coming[-1][1]

    @property
    def hits(self) -> int:
        """Warnings that came true."""
        return int(self._verdicts.hits[0])

    @property
    def misses(self) -> int:
        """Bounds that broke without a warning."""
        return int(self._verdicts.misses[0])

    @property
    def false(self) -> int:
        """Warnings that did not come true."""
        return int(self._verdicts.false[0])

    @property
    def leads_s(self) -> list[int]:
        """Of the last ones that came true."""
        return self._verdicts.leads_s[0]

    def step(self, second: int, slack_ms: Mapping[str, float], warned: set[str], company: Company) -> None:
        """`company`: who shares hosts with whom. Where somebody has come or gone, nobody knows what would have been."""
        before, self._company = self._company, company
        relieved = {flow for flow, shared in before.items() if company.get(flow) != shared}
        if self._coming and self.second == second:
            self._coming.pop()  # the same again, since it could not be written
        self._coming = deque((due, flows - relieved) for due, flows in self._coming)
        while self._coming and self._coming[0][0] < second:
            due, heard = self._coming.popleft()
            self._verdicts.step(due, self._flags(heard)[None], self._flags(set()))
        for flow in sorted(slack_ms.keys() - self._places.keys()):
            if not self._free:
                self._free = [len(self._places)]
                self._verdicts.grow(len(self._places) + 1)
            self._places[flow] = self._free.pop()
            self._verdicts.forget([self._places[flow]])  # which has gone on since the one before ended
        broken = {flow for flow, left in slack_ms.items() if left < 0}
        self._verdicts.step(second, self._flags(set())[None], self._flags(broken), left=self._flags(relieved))
        self.alarm.learn(self._verdicts)
        self.second = second
        self._coming.append((second, warned))

    def _flags(self, flows: set[str]) -> Flags:
        """Of all places, which are those of these flows."""
        found = np.zeros(self._verdicts.count, dtype=bool)
        found[[self._places[flow] for flow in flows if flow in self._places]] = True
        return found

    def keep(self, flows: set[str]) -> None:
        """Forgets all others."""
        gone = [self._places.pop(flow) for flow in sorted(self._places.keys() - flows)]
        self._verdicts.forget(gone)
        self._free += gone
