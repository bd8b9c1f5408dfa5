"""Predicted against measured, live and in a back-test: the error of every kind of model that says what will come.

- `forecast`: the rate at each horizon against the rate that came, beside the last value as everybody's first guess;
- `service`: the line's time at a host's rate against the time that records then took, by the model of the second
  before, beside that second's own mean; and how many were within one standard error;
- `hotspot`: how many warnings came true, how many broken bounds had one, and how long before.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from placement.fits import Execution
from placement.hotspots import VerdictParams
from services.modelling.columns import Columns
from services.modelling.flow_verdicts import FlowVerdicts
from services.modelling.forecasts import Rates
from services.modelling.modeller import Modeller
from services.modelling.operator_columns import ServiceFit
from services.modelling.ring import Array
from topics.messages import ScoreModel

KEPT_S = 2_000
"""Live, what is older than this counts little. Warnings are few: all that are known of count alike."""
LEADS_MAX = VerdictParams().kept
"""Of so many warnings that came true last the lead is told, whichever process gave them."""
KEEP = 1.0 - 1.0 / KEPT_S
"""What a second keeps of the sums before it."""


@dataclass(slots=True)
class _Tally:
    """Sums of absolute errors and of values."""

    predictions: float = 0.0
    wrong: float = 0.0
    naive_wrong: float = 0.0
    size: float = 0.0
    inside: float = 0.0

    def add(self, predicted: Array, naive: Array, actual: Array, within: Array | None, keep: float) -> None:
        for name in ("predictions", "wrong", "naive_wrong", "size", "inside"):
            setattr(self, name, getattr(self, name) * keep)
        self.predictions += len(actual)
        self.wrong += float(np.abs(predicted - actual).sum())
        self.naive_wrong += float(np.abs(naive - actual).sum())
        self.size += float(actual.sum())
        if within is not None:
            self.inside += float((np.abs(predicted - actual) <= within).sum())


@dataclass(slots=True)
class _Warnings:
    """How those came out that were given before this process began."""

    hits: int = 0
    misses: int = 0
    false: int = 0
    leads_s: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Scoreboard:
    """`look` after each batch; `scores` so far. `keep`: what each look keeps of the ones before; 1 in a back-test."""

    horizons_s: tuple[int, ...]
    keep: float = KEEP
    _due: dict[int, deque[tuple[int, Array, Rates]]] = field(default_factory=dict)
    """For each horizon: the second, the rates forecast for it, and the rates when they were."""
    _line: tuple[int, ServiceFit, Execution] | None = None
    _tallies: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    _spots: FlowVerdicts | None = None
    _before: _Warnings = field(default_factory=_Warnings)

    def resume(self, scores: Iterable[ScoreModel]) -> None:
        """Goes on from scores that were told before, as far as they say what they are made of."""
        for score in scores:
            if score.of == "hotspot":
                hits = round((score.precision or 0.0) * score.predictions)
                self._before.hits += hits
                self._before.false += score.predictions - hits
                self._before.misses += max(0, (score.broken or hits) - hits)
                # Only their median is known: it stands for each of them.
                leads_s = [score.lead_s] * min(hits, LEADS_MAX) if score.lead_s is not None else []
                self._before.leads_s = [*self._before.leads_s, *leads_s][-LEADS_MAX:]
            elif score.size is not None and score.wape is not None and score.naive_wape is not None:
                tally = self._tallies.setdefault((score.of, score.what), _Tally())
                tally.predictions += score.predictions
                tally.size += score.size
                tally.wrong += score.wape * score.size
                tally.naive_wrong += score.naive_wape * score.size
                tally.inside += (score.inside or 0.0) * score.predictions

    @property
    def judged_before(self) -> tuple[int, int]:
        """Of the warnings that were given before this process began: how many came true, and how many did not."""
        return self._before.hits, self._before.false

    def look(self, modeller: Modeller) -> None:
        """Scores what was said of the last closed second, and notes what is said of those to come."""
        self._spots = modeller.hot_spots.verdicts
        self._look_at_rates(modeller)
        self._look_at_services(modeller)

    def scores(self) -> list[ScoreModel]:
        """One for each kind and horizon of which anything came due."""
        made = []
        for (of, what), tally in sorted(self._tallies.items()):
            if tally.size > 0:
                inside = tally.inside / tally.predictions if of == "service" else None
                made.append(
                    ScoreModel(
                        of,
                        what,
                        round(tally.predictions),
                        tally.wrong / tally.size,
                        tally.naive_wrong / tally.size,
                        inside=inside,
                        size=tally.size,
                    )
                )
        return made + self._warnings()

    def columns(self) -> list[Columns]:
        """The scores as models."""
        scores = self.scores()
        figures = [[getattr(score, name) for score in scores] for name in ScoreModel.__struct_fields__]
        count = np.array([float(score.predictions) for score in scores])
        keys = [f"score/{score.of}/{score.what}" for score in scores]
        return [Columns(ScoreModel, keys, count, np.full(len(scores), np.nan), figures, KEPT_S)] if scores else []

    def _warnings(self) -> list[ScoreModel]:
        """How the warnings of hot spots came out."""
        spots, before = self._spots or _Warnings(), self._before
        hits, misses, false = spots.hits + before.hits, spots.misses + before.misses, spots.false + before.false
        if not hits + misses + false:
            return []
        warned, broken, leads_s = hits + false, hits + misses, [*before.leads_s, *spots.leads_s][-LEADS_MAX:]
        return [
            ScoreModel(
                "hotspot",
                "all",
                warned,
                precision=hits / warned if warned else None,
                recall=hits / broken if broken else None,
                lead_s=median(leads_s) if leads_s else None,
                broken=broken,
            )
        ]

    def _look_at_rates(self, modeller: Modeller) -> None:
        """Of each second that was closed since the last look: there may be models of some seconds only."""
        second, rates = modeller.closed, modeller.forecasts.rates()
        for place, horizon_s in enumerate(self.horizons_s):
            due = self._due.setdefault(horizon_s, deque())
            for at, closed in enumerate(rates.closed, start=second - len(rates.closed) + 1):
                while due and due[0][0] < at:
                    due.popleft()
                if due and due[0][0] == at:
                    self._score_rates(horizon_s, *due.popleft()[1:], rates, closed)
            if not due or due[-1][0] < second + horizon_s:
                due.append((second + horizon_s, rates.ahead[:, place], rates))

    def _score_rates(self, horizon_s: int, told: Array, before: Rates, rates: Rates, closed: Array) -> None:
        """`before`: when it was told; `rates`: now; `closed`: what came then."""
        now = closed[: len(told)]
        # A place may have been given to another series since then.
        same = before.owner == rates.owner[: len(told)]
        known = np.flatnonzero(np.isfinite(told) & np.isfinite(now) & same)
        tally = self._tallies.setdefault(("forecast", f"{horizon_s} s"), _Tally())
        tally.add(told[known], before.last[known], now[known], None, self.keep)

    def _look_at_services(self, modeller: Modeller) -> None:
        fit = modeller.service_fit()
        if fit is None:
            self._line = None
            return
        # Where the second after that of the last look stands in the window, from its end.
        next_one = self._line[0] - modeller.closed if self._line is not None else 0
        if self._line is not None and -fit.host_rates.shape[1] <= next_one < 0 and self._line[1].parts == fit.parts:
            _, before, line = self._line
            time_us, error_us = line.predict(fit.host_rates[:, next_one])
            count, mean_us = fit.times.count[:, next_one], fit.times.mean[:, next_one]
            known = np.flatnonzero((count > 0) & np.isfinite(time_us) & np.isfinite(before.fit.mean))
            tally = self._tallies.setdefault(("service", "1 s"), _Tally())
            tally.add(time_us[known], before.fit.mean[known], mean_us[known], error_us[known], self.keep)
        if self._line is None or self._line[0] < modeller.closed:
            self._line = (modeller.closed, fit, fit.line)
