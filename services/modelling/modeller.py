"""From sums to models: rings of the last seconds, and fits of all seats at once. The same for a stream and for history.

A second is closed when the broker's time has passed its end. Models are of windows that end with the last closed
second; what comes later for it is set in its cell and counts in the next models. Until then a second that a host has
yet to tell of is not known, which is not 0 (`lateness`). Forecasts advance second by second.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from placement.fits.arrays import divide
from services.modelling.columns import Columns
from services.modelling.demand import Demand
from services.modelling.flow_ends import FlowEnds
from services.modelling.flow_facts import FlowFacts
from services.modelling.forecasts import Forecasts
from services.modelling.lateness import Lateness
from services.modelling.operator_columns import (
    ServiceFit,
    edge_columns,
    fit_services,
    link_columns,
    rate_columns,
    service_columns,
)
from services.modelling.operators import Operators
from services.modelling.params import RING_AHEAD_S, SLACK_S, FitParams
from services.modelling.ring import Ring
from services.modelling.rows import Rows
from services.modelling.seats import Seats
from services.modelling.signatures import signature_columns
from services.modelling.slack import HotSpots
from services.modelling.sums import COLUMNS, SEPARATOR, place
from services.modelling.windows import Window, held, seen_in

SWEEP_EVERY_S = 30


@dataclass(slots=True)
class Totals:
    """What has been counted in closed seconds, each of them once."""

    rows: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0.0))
    astray: float = 0.0


class Modeller:
    """`take` sets cells and says how many seconds were closed; `models` fits; `sweep` names models that ended."""

    def __init__(self, params: FitParams) -> None:
        self.params = params
        self.totals = Totals()
        self.flows: Mapping[str, FlowFacts] = {}
        self._begin()

    def _begin(self, standing: Iterable[str] = ()) -> None:
        """Nothing is known yet, or any more, but whose warnings stand on the topic."""
        params = self.params
        self.closed = 0
        seconds = params.window_s + RING_AHEAD_S
        self.rings = {kind: Ring(len(columns), seconds) for kind, columns in COLUMNS.items()}
        self.forecasts = Forecasts(params.forecast, params.courses)
        self.forecasts.know(self.flows)
        self.hot_spots = HotSpots(params.courses.steps, params.alarm, recent_s=params.recent_s)
        self.hot_spots.stand_by(standing)
        self.lateness = Lateness()
        self._newest = 0
        """The last second that any batch would have closed."""
        self._fresh = 0
        """How many seconds were closed with the last one."""
        self._swept = 0
        self._known: tuple[int, Operators] | None = None
        self._ends: tuple[Operators, Mapping[str, FlowFacts], FlowEnds] | None = None
        self._looked: tuple[tuple[int, int], Window] | None = None
        self._service: tuple[tuple[int, int], ServiceFit] | None = None

    def know(self, flows: Mapping[str, FlowFacts]) -> None:
        """Flows have come, changed or gone; the same ones again cost nothing."""
        if flows is not self.flows:
            self.flows = flows
            self.forecasts.know(flows)

    def refill(self, rows: Rows) -> None:
        """From before this process; micro-batches may still be behind it."""
        self.take(rows)
        self._newest = 0

    @property
    def is_behind(self) -> bool:
        """Whether micro-batches are still of a time that was refilled: a second that ends one may be half of itself."""
        return self._newest < self.closed

    def take(self, rows: Rows) -> int:
        """One micro-batch; the number of seconds that it closed."""
        newest = rows.appended_ms // 1_000 - 1
        if 0 < newest < self._newest - self.params.window_s - SLACK_S:
            # No query begins so far back: the broker's clock was set back. Until it had caught up, nothing would close.
            self._begin(self.hot_spots.standing)
        self._newest = max(self._newest, newest)
        before = self.closed
        closed = max(before, newest)
        for kind, sums in rows.kinds.items():
            self.rings[kind].set(sums.seats, sums.seconds, sums.values)
        if before == 0:
            starts = [int(sums.seconds.min()) for sums in rows.kinds.values() if len(sums.seconds)]
            before = max(closed - self.params.window_s, min(starts, default=closed) - 1)
        fresh = min(max(0, closed - before), self.params.window_s)
        self.closed = closed
        if fresh:
            self._close(closed, fresh)
        return fresh

    def models(self) -> list[Columns]:
        """Of the window that ends with the last closed second."""
        made = [*self._operator_models(), self._link_models()]
        made += self.forecasts.columns()
        made += self._slack_models()
        return [columns for columns in made if columns.keys]

    def service_fit(self) -> ServiceFit | None:
        """Service times of all seats, as of the last closed second; None without seats."""
        operators = self._operators()
        if not operators.parts:
            return None
        stamp = (self.closed, self.rings["operator"].version)
        if self._service is None or self._service[0] != stamp:
            self._service = (stamp, fit_services(operators, self._window()))
        return self._service[1]

    def sweep(self) -> list[str]:
        """From time to time: forgets seats that fell silent a window ago; the keys of the models that end with them."""
        if self.closed - self._swept < SWEEP_EVERY_S:
            return []
        self._swept = self.closed
        before = self._keys()
        for ring in self.rings.values():
            ring.drop_silent(self.closed - self.params.window_s)
        operators = self._operators()
        self.forecasts.keep(operators.names)
        self.hot_spots.keep(operators.flows)
        return sorted(before - self._keys())

    def _operators(self) -> Operators:
        """Who sits where; found anew only when somebody has come or gone."""
        ring = self.rings["operator"]
        if self._known is None or self._known[0] != ring.changes:
            self._known = (ring.changes, Operators(*ring.seats()))
        return self._known[1]

    def _keys(self) -> set[str]:
        operators = self._operators()
        keys = {f"{kind}/{'/'.join(name)}" for kind in ("rate", "forecast", "signature") for name in operators.names}
        keys |= {f"edge/{flow}/{segment}" for _, flow, segment, _ in operators.parts}
        keys |= {f"{kind}/{flow}" for kind in ("slack", "hotspot") for flow in operators.flows}
        keys |= {f"service/{flow}/{operator}/{host}" for host, flow, _, operator in operators.parts}
        return keys | {f"link/{name.replace(SEPARATOR, '/')}" for name in self.rings["link"].seats()[0]}

    def _close(self, closed: int, fresh: int) -> None:
        """Counts the seconds that have closed, and lets the forecasts go on by them."""
        for kind, ring in self.rings.items():
            self.totals.rows[kind] += float(ring.window(place(kind, "rows"), closed, fresh).sum())
            self.totals.astray += float(ring.window(place(kind, "astray"), closed, fresh).sum())
        self._fresh = fresh
        operators = self._operators()
        self.lateness.look(closed, self._heard(operators))
        window = self._window()
        seen = seen_in(operators.sum(window["rows"]), operators.sum(window["pending"]))
        late_s = operators.most(np.array([self.lateness.usual(part[0]) for part in operators.parts], dtype=np.int64))
        rates = np.where(seen, operators.sum(window["came"]), np.nan)
        self.forecasts.step(operators.names, rates, late_s, fresh)

    def _heard(self, operators: Operators) -> dict[str, int]:
        """The last second that each host told of, itself or by an operator."""
        hosts, places = self.rings["host"].seats()
        heard = dict(zip(hosts, self.rings["host"].heard(places).tolist(), strict=True))
        seconds = self.rings["operator"].heard(operators.places).tolist()
        for (host, *_), second in zip(operators.parts, seconds, strict=True):
            heard[host] = max(heard.get(host, 0), second)
        return heard

    def _flow_ends(self) -> FlowEnds:
        """Found anew only when somebody has come or gone."""
        operators, known = self._operators(), self._ends
        if known is None or known[0] is not operators or known[1] is not self.flows:
            known = self._ends = (operators, self.flows, FlowEnds.of(operators.parts, self.flows))
        return known[2]

    def _window(self) -> Window:
        """All sums of operators; `pending`: 1 where a row may still come; `came`: arrivals with those that wait."""
        ring, operators, window_s = self.rings["operator"], self._operators(), self.params.window_s
        stamp = (self.closed, ring.version)
        if self._looked is None or self._looked[0] != stamp:
            late_s = np.array([self.lateness.now(part[0]) for part in operators.parts], dtype=np.int64)
            pending = (np.arange(window_s)[::-1] < late_s[:, None]).astype(float)
            window = Window(ring, "operator", operators.places, self.closed, window_s, pending=pending)
            window["came"] = Demand(operators, self._flow_ends().is_first).came(window)
            self._looked = (stamp, window)
        return self._looked[1]

    def _operator_models(self) -> list[Columns]:
        operators, found = self._operators(), self.service_fit()
        if found is None:
            return []
        window, recent_s = self._window(), self.params.recent_s
        made = [
            rate_columns(operators, window, recent_s),
            edge_columns(operators, window, recent_s),
            service_columns(operators, window, found, recent_s),
        ]
        return [*made, self._signatures(operators, window)]

    def _signatures(self, operators: Operators, window: Window) -> Columns:
        """Those whose turn it is: some in each second, so that none takes long."""
        every = self.params.signature_every_s
        due = np.flatnonzero((self.closed - np.arange(len(operators.names))) % every < self._fresh)
        sums = ("came", "pending", "rows", "service_us", "served")
        found = {name: operators.sum(window[name])[due] for name in sums}
        return signature_columns(
            [operators.names[place] for place in due],
            held(found["came"], found["pending"]),
            divide(found["service_us"], found["served"]),
            seen_in(found["rows"], found["pending"]).sum(axis=1),
        )

    def _slack_models(self) -> list[Columns]:
        """Slack and hot spots of the flows with a bound, from what was measured lately."""
        if not any(flow.bound_ms is not None for flow in self.flows.values()):
            return self.hot_spots.take_back(self.closed)
        seats = Seats.of(self._operators(), self._flow_ends(), self._window(), self.params.recent_s)
        return self.hot_spots.columns(seats, self.forecasts.ahead(), self.flows, self.closed)

    def _link_models(self) -> Columns:
        ring = self.rings["link"]
        names, places = ring.seats()
        return link_columns(names, Window(ring, "link", places, self.closed, self.params.window_s))
