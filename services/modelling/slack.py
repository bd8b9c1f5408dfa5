"""Slack of flows, now and ahead, and the hot spots that follow from it (Synergy 3.3.1), all from what was measured."""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from placement.fits.arrays import divide
from placement.hotspots import NO_BOUND_MS, AlarmParams, Outlook, VerdictParams, foresee, hot_spots
from services.modelling.columns import Columns, numbers, optional
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_outlook import Ahead, courses_of, outlook_of
from services.modelling.flow_verdicts import FlowVerdicts
from services.modelling.ring import Array
from services.modelling.seats import Seats
from services.modelling.slack_errors import SlackErrors
from services.modelling.standing_warnings import StandingWarnings, Warned
from topics.messages import SlackModel


class HotSpots:
    """Slack and warnings of all flows with a bound; `verdicts`: how what was foreseen came out, warned of or not.

    Slack is told over `recent_s`. A bound is broken in any second that takes longer, as in the lab; slack ahead is of
    single seconds, too, and so are its errors.
    """

    def __init__(self, horizons_s: tuple[int, ...], alarm: AlarmParams, *, recent_s: int) -> None:
        self._horizons_s = horizons_s
        self._recent_s = recent_s
        self.verdicts = FlowVerdicts(VerdictParams(holds_s=horizons_s[-1]), alarm)
        self._errors = SlackErrors(horizons_s)
        self._warnings = StandingWarnings(recent_s)

    @property
    def standing(self) -> set[str]:
        """Flows whose warnings stand on the topic."""
        return self._warnings.flows

    def stand_by(self, flows: Iterable[str]) -> None:
        """Warnings of these stand from before: they are told again or taken back."""
        self._warnings.flows |= set(flows)

    def columns(self, seats: Seats, ahead: Ahead, flows: Mapping[str, FlowFacts], second: int) -> list[Columns]:
        """The models of this second; counts how earlier warnings came out."""
        if not seats.parts:
            return self.take_back(second)
        outlook, measured = outlook_of(seats, flows)
        bound = np.flatnonzero((outlook.bounds_ms < NO_BOUND_MS) & np.isfinite(measured.latency_ms))
        if not len(bound):
            return self.take_back(second)
        seen = foresee(outlook, courses_of(outlook.flows, seats, ahead), np.array(self._horizons_s))
        names = [outlook.flows[flow] for flow in bound]
        slack_ms = outlook.bounds_ms[bound] - measured.latency_ms[bound]
        by_second_ms = outlook.bounds_ms[bound, None] - measured.by_second_ms[bound]
        left_ms = (outlook.bounds_ms - measured.latest_ms)[bound].tolist()
        # Who has come to rest is in no danger, and its last second has been judged.
        timed = {name: left for name, left in zip(names, left_ms, strict=True) if math.isfinite(left)}
        spots = [spot for spot in hot_spots(outlook, seen, self.verdicts.alarm.level) if spot.flow in timed]
        self._catch_up(second, names, by_second_ms, outlook)
        self.verdicts.step(second, timed, {spot.flow for spot in spots}, outlook.company())
        self._errors.score(second, names, by_second_ms)
        self._errors.note(second, names, seen.slack_ms[bound])
        off_ms = self._errors.of(names)
        told = Columns(
            SlackModel,
            [f"slack/{name}" for name in names],
            measured.records[bound],
            divide(off_ms[:, 0], np.abs(slack_ms)),
            [
                names,
                numbers(outlook.bounds_ms[bound]),
                numbers(measured.latency_ms[bound]),
                numbers(slack_ms),
                [self._horizons_s] * len(names),
                list(zip(*map(numbers, seen.slack_ms[bound].T), strict=True)),
                list(zip(*map(optional, off_ms.T), strict=True)),
            ],
            self._recent_s,
        )
        records = dict(zip(names, measured.records[bound].astype(int).tolist(), strict=True))
        # What is broken already is no forecast, and has to be told: as what is so now.
        broken = {flow: left_ms for flow, left_ms in timed.items() if left_ms < 0}
        heard = [spot for spot in spots if self.verdicts.alarm.speaks or spot.flow in broken]
        warned = Warned(heard, broken, outlook, seen, records, self._false_share())
        return [told, *self._warnings.columns(warned, seats, second)]

    def _catch_up(self, second: int, names: list[str], slack_ms: Array, outlook: Outlook) -> None:
        """A batch may close several seconds: bounds that broke in those before the last one count as well."""
        last = self.verdicts.second
        skipped = min(second - last, slack_ms.shape[1]) - 1 if last else 0
        for ago in range(skipped, 0, -1):
            timed = {
                name: left
                for name, left in zip(names, slack_ms[:, -1 - ago].tolist(), strict=True)
                if math.isfinite(left)
            }
            self.verdicts.step(second - ago, timed, set(), outlook.company())

    def take_back(self, second: int) -> list[Columns]:
        """No flow has a bound, or none is measured: no warning stands."""
        return self._warnings.take_back(second)

    def keep(self, flows: set[str]) -> None:
        """Forgets all others."""
        self._errors.keep(flows)
        self.verdicts.keep(flows)
        self._warnings.flows &= flows

    def _false_share(self) -> float:
        verdicts = self.verdicts
        judged = verdicts.hits + verdicts.false
        return verdicts.false / judged if judged else math.nan
