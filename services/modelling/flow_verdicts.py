"""How warnings of hot spots come out, flow by flow, as flows come and go."""

from collections.abc import Mapping

import numpy as np

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
        for flow in sorted(slack_ms.keys() - self._places.keys()):
            if not self._free:
                self._free = [len(self._places)]
                self._verdicts.grow(len(self._places) + 1)
            self._places[flow] = self._free.pop()
        told = np.zeros((3, self._verdicts.count), dtype=bool)
        for row, flows in enumerate((warned, {flow for flow, left in slack_ms.items() if left < 0}, relieved)):
            told[row, [self._places[flow] for flow in flows if flow in self._places]] = True
        self._verdicts.step(second, told[:1], told[1], left=told[2])
        self.alarm.learn(self._verdicts)

    def keep(self, flows: set[str]) -> None:
        """Forgets all others."""
        gone = [self._places.pop(flow) for flow in sorted(self._places.keys() - flows)]
        self._verdicts.forget(gone)
        self._free += gone
