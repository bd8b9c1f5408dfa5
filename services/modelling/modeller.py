"""From sums to models: rings of the last seconds, and fits of all seats at once. The same for a stream and for history.

A second is closed when the broker's time has passed its end. Models are of windows that end with the last closed
second; what comes later for it is set in its cell and counts in the next models. Until then a second that a host has
yet to tell of is not known, which is not 0 (`lateness`). Forecasts advance second by second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placement.fits import Execution, Moments, Service, fit_delays, fit_execution, fit_rates, fit_service
from placement.fits.arrays import Flags, divide
from services.modelling.columns import Columns, numbers, optional
from services.modelling.flow_facts import FlowFacts
from services.modelling.forecasts import Forecasts
from services.modelling.lateness import Lateness
from services.modelling.params import RING_AHEAD_S, SLACK_S, FitParams
from services.modelling.ring import Array, Indices, Ring
from services.modelling.rows import Rows
from services.modelling.signatures import signature_columns
from services.modelling.slack import HotSpots, Seats
from services.modelling.sums import COLUMNS, SEPARATOR, place
from topics.messages import EdgeModel, LinkModel, RateModel, ServiceModel

SWEEP_EVERY_S = 30
SLACK_SUMS = (
    "arrivals",
    "served",
    "service_us",
    "service_us_sq",
    "gaps",
    "gaps_sq",
    "lag",
    "timed",
    "latency_ms",
)
"""What slack is made from."""


@dataclass(slots=True)
class Totals:
    """What has been counted in closed seconds, each of them once."""

    rows: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0.0))
    astray: float = 0.0


@dataclass(frozen=True, slots=True)
class ServiceFit:
    """Operators on hosts: one row a seat, which is (host, flow, segment, operator)."""

    parts: list[tuple[str, ...]]
    times: Moments
    """Service times of each second of the window."""
    host_rates: Array
    """Arrivals at all operators of its host, each second."""
    fit: Service
    line: Execution


class Modeller:
    """`take` sets cells and says how many seconds were closed; `models` fits; `sweep` names models that ended."""

    def __init__(self, params: FitParams) -> None:
        self.params = params
        self.totals = Totals()
        self.flows: Mapping[str, FlowFacts] = {}
        self._begin()

    def _begin(self) -> None:
        """Nothing is known yet, or any more."""
        params = self.params
        self.closed = 0
        seconds = params.window_s + RING_AHEAD_S
        self.rings = {kind: Ring(len(columns), seconds) for kind, columns in COLUMNS.items()}
        self.forecasts = Forecasts(params.forecast, params.courses)
        self.forecasts.know(self.flows)
        self.hot_spots = HotSpots(params.courses.steps, recent_s=params.recent_s)
        self.lateness = Lateness()
        self._newest = 0
        """The last second that any batch would have closed."""
        self._signed = 0
        """The last second with signatures."""
        self._swept = 0
        self._known: tuple[int, _Operators] | None = None
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

    def take(self, rows: Rows) -> int:
        """One micro-batch; the number of seconds that it closed."""
        newest = rows.appended_ms // 1_000 - 1
        if 0 < newest < self._newest - self.params.window_s - SLACK_S:
            # No query begins so far back: the broker's clock was set back. Until it had caught up, nothing would close.
            self._begin()
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
            window = _Window(self.rings["operator"], "operator", self.closed, self.params.window_s)
            sums = (window[name][operators.places] for name in ("served", "service_us", "service_us_sq"))
            times, host_rates = Moments(*sums), operators.host_sum(window["arrivals"])
            line = fit_execution(np.where(times.count > 0, host_rates, np.nan), times.mean)
            self._service = (stamp, ServiceFit(operators.parts, times, host_rates, fit_service(times), line))
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

    def _operators(self) -> "_Operators":
        """Who sits where; found anew only when somebody has come or gone."""
        ring = self.rings["operator"]
        if self._known is None or self._known[0] != ring.changes:
            self._known = (ring.changes, _Operators(*ring.seats()))
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
        if closed - self._signed >= self.params.signature_every_s:
            self._signed = closed
        operators = self._operators()
        self.lateness.look(closed, self._heard(operators))
        window = self._window()
        seen = _seen(operators.sum(window["rows"]), operators.sum(window["pending"]))
        late_s = operators.most(np.array([self.lateness.usual(part[0]) for part in operators.parts], dtype=np.int64))
        rates = np.where(seen, operators.sum(window["arrivals"]), np.nan)
        self.forecasts.step(operators.names, rates, late_s, fresh)

    def _heard(self, operators: "_Operators") -> dict[str, int]:
        """The last second that each host told of, itself or by an operator."""
        hosts, places = self.rings["host"].seats()
        heard = dict(zip(hosts, self.rings["host"].heard(places).tolist(), strict=True))
        seconds = self.rings["operator"].heard(operators.places).tolist()
        for (host, *_), second in zip(operators.parts, seconds, strict=True):
            heard[host] = max(heard.get(host, 0), second)
        return heard

    def _window(self) -> "_Window":
        """All sums of operators; and `pending`: 1 where a row may still come."""
        ring, operators, window_s = self.rings["operator"], self._operators(), self.params.window_s
        pending = np.zeros((ring.places, window_s))
        late_s = np.array([self.lateness.now(part[0]) for part in operators.parts], dtype=np.int64)
        pending[operators.places] = np.arange(window_s)[::-1] < late_s[:, None]
        return _Window(ring, "operator", self.closed, window_s, pending=pending)

    def _operator_models(self) -> list[Columns]:
        operators = self._operators()
        if not operators.parts:
            return []
        window = self._window()
        made = [
            self._rates(operators, window),
            self._edges(operators, window),
            self._services(operators, window),
        ]
        if self.closed == self._signed:
            made.append(
                signature_columns(
                    operators.names,
                    _held(operators.sum(window["arrivals"]), operators.sum(window["pending"])),
                    divide(operators.sum(window["service_us"]), operators.sum(window["served"])),
                )
            )
        return made

    def _rates(self, operators: "_Operators", window: "_Window") -> Columns:
        arrivals = operators.sum(window["arrivals"])
        gaps = operators.sum(window["gaps"])
        # A silent second of an operator that is there is a rate of 0, from its first second on.
        seen = _seen(operators.sum(window["rows"]), operators.sum(window["pending"]))
        fit = fit_rates(
            arrivals, operators.sum(window["outputs"]), Moments(gaps, gaps, operators.sum(window["gaps_sq"])), seen
        )
        recent_s = self.params.recent_s
        recent = _mean_of_seen(arrivals[:, -recent_s:], seen[:, -recent_s:])
        return Columns(
            RateModel,
            [f"rate/{flow}/{operator}" for flow, operator in operators.names],
            fit.seconds,
            divide(fit.error_per_s, fit.per_s),
            [
                [flow for flow, _ in operators.names],
                operators.segments,
                [operator for _, operator in operators.names],
                numbers(fit.per_s),
                numbers(recent),
                [recent_s] * len(operators.names),
                optional(fit.ca2),
                optional(fit.selectivity),
            ],
        )

    def _edges(self, operators: "_Operators", window: "_Window") -> Columns:
        names, tasks = operators.tasks()
        sums = ("rows", "pending", "bytes_in", "bytes_out", "lag", "state_bytes")
        found = {name: tasks(window[name]) for name in sums}
        seen = _seen(found["rows"], found["pending"])
        seconds = seen.sum(axis=1).astype(float)
        told = (found["rows"] > 0) & seen
        last = np.where(told.any(axis=1), told.shape[1] - 1 - told[:, ::-1].argmax(axis=1), 0)
        first = told.argmax(axis=1)
        every = np.arange(len(names))
        lag = found["lag"][every, last]
        growth = divide(lag - found["lag"][every, first], (last - first).astype(float))
        return Columns(
            EdgeModel,
            [f"edge/{flow}/{segment}" for flow, segment in names],
            seconds,
            np.full(len(names), np.nan),
            [
                [flow for flow, _ in names],
                [segment for _, segment in names],
                numbers(divide(found["bytes_in"].sum(axis=1, where=seen), seconds)),
                numbers(divide(found["bytes_out"].sum(axis=1, where=seen), seconds)),
                numbers(lag),
                numbers(growth),
                numbers(found["state_bytes"][every, last]),
            ],
        )

    def _services(self, operators: "_Operators", window: "_Window") -> Columns:
        places = operators.places
        found = self.service_fit()
        assert found is not None
        fit, line, host_rates = found.fit, found.line, found.host_rates
        waits = divide(window["wait_us"][places].sum(axis=1), window["waited"][places].sum(axis=1))
        recent_s = self.params.recent_s
        seen = _seen(operators.host_sum(window["rows"]), operators.host_sum(window["pending"]))
        host_per_s = _mean_of_seen(host_rates[:, -recent_s:], seen[:, -recent_s:])
        chosen = np.flatnonzero(np.isfinite(fit.mean))
        parts = [operators.parts[place] for place in chosen]

        def of(values: Array) -> list[float | None]:
            return optional(values[chosen])

        return Columns(
            ServiceModel,
            [f"service/{flow}/{operator}/{host}" for host, flow, _, operator in parts],
            fit.served[chosen],
            divide(fit.error, fit.mean)[chosen],
            [
                [flow for _, flow, _, _ in parts],
                [segment for _, _, segment, _ in parts],
                [operator for _, _, _, operator in parts],
                [host for host, _, _, _ in parts],
                numbers(fit.mean[chosen]),
                numbers(fit.cs2[chosen]),
                numbers(waits[chosen]),
                numbers(host_per_s[chosen]),
                line.pairs[chosen].astype(np.int64).tolist(),
                of(line.slope),
                of(line.intercept),
                of(line.slope_error),
                of(line.miss),
                of(line.mean_rate),
            ],
        )

    def _slack_models(self) -> list[Columns]:
        """Slack and hot spots of the flows with a bound, from what was measured lately."""
        operators, recent_s = self._operators(), self.params.recent_s
        if not any(flow.bound_ms is not None for flow in self.flows.values()):
            return []
        window = self._window()
        sums = {name: window[name][operators.places][:, -recent_s:] for name in ("rows", "pending", *SLACK_SUMS)}
        here = operators.staying(sums["rows"].sum(axis=1) > 0)
        sums = {name: values[here] for name, values in sums.items()}
        added = {name: values.sum(axis=1) for name, values in sums.items()}
        service = fit_service(Moments(sums["served"], sums["service_us"], sums["service_us_sq"]))
        seats = Seats(
            [operators.parts[seat] for seat in here.tolist()],
            _mean_of_seen(sums["arrivals"], _seen(sums["rows"], sums["pending"])),
            divide(added["service_us"], added["served"]),
            np.nan_to_num(service.cs2, nan=1.0),
            divide(added["gaps_sq"], added["gaps"]) - 1.0,
            _held(sums["lag"], sums["pending"])[:, -1],
            divide(added["latency_ms"], added["timed"]),
        )
        return self.hot_spots.columns(seats, self.forecasts.ahead(), self.flows, self.closed)

    def _link_models(self) -> Columns:
        ring = self.rings["link"]
        names, places = ring.seats()
        window = _Window(ring, "link", self.closed, self.params.window_s)
        sums = {name: window[name][places] for name in COLUMNS["link"]}
        trips = Moments(sums["answers"], sums["round_trip_ms"], sums["round_trip_ms_sq"])
        fit = fit_delays(trips, divide(sums["fastest_ms"], sums["rows"]), sums["sent"], sums["lost"])
        chosen = np.flatnonzero(np.isfinite(fit.mean))
        pairs = [names[place].split(SEPARATOR) for place in chosen]
        return Columns(
            LinkModel,
            [f"link/{host}/{peer}" for host, peer in pairs],
            fit.answers[chosen],
            divide(fit.error, fit.mean)[chosen],
            [
                [host for host, _ in pairs],
                [peer for _, peer in pairs],
                numbers(fit.mean[chosen]),
                numbers(fit.variance[chosen]),
                numbers(fit.fastest[chosen]),
                numbers(np.clip(np.nan_to_num(fit.loss[chosen]), 0.0, 1.0)),
            ],
        )


class _Window:
    """Sums of a ring's seats by name, and what else is told of them: (places, seconds)."""

    def __init__(self, ring: Ring, kind: str, last: int, length: int, **more: Array) -> None:
        self._ring, self._kind = ring, kind
        self._span = (last, length)
        self._found: dict[str, Array] = more

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            self._found[name] = self._ring.window(place(self._kind, name), *self._span)
        return self._found[name]


class _Operators:
    """Which seats are which operator, segment and host, and how to add them up."""

    def __init__(self, seats: Sequence[str], places: Indices) -> None:
        self.places = places
        self.parts = [tuple(seat.split(SEPARATOR)) for seat in seats]
        """(host, flow, segment, operator) of each seat."""
        self.flows = {flow for _, flow, _, _ in self.parts}
        flows = [(flow, operator) for _, flow, _, operator in self.parts]
        self.names, self._operator = _numbered(flows)
        self.segments = [""] * len(self.names)
        for (_, _, segment, _), operator in zip(self.parts, self._operator, strict=True):
            self.segments[operator] = segment

    def sum(self, values: Array) -> Array:
        """One row an operator, over all its hosts."""
        return _together(np.add, values[self.places], self._operator)

    def staying(self, spoke: NDArray[np.bool_]) -> Indices:
        """The seats that count as company: those that spoke lately, and those silent ones whose operator has not spoken
        elsewhere. Who has left a host keeps its seat for a window; who has nothing to do is still there."""
        told = {part[1:] for part, is_here in zip(self.parts, spoke.tolist(), strict=True) if is_here}
        return np.array([k for k, part in enumerate(self.parts) if spoke[k] or part[1:] not in told], dtype=np.int64)

    def most(self, values: Indices) -> Indices:
        """Of each operator the largest of its seats' values."""
        return _together(np.maximum, values, self._operator)

    def host_sum(self, values: Array) -> Array:
        """For each seat the sum over all operators of its host."""
        _, host = _numbered([part[0] for part in self.parts])
        return _together(np.add, values[self.places], host)[host]

    def tasks(self) -> tuple[list[Any], Callable[[Array], Array]]:
        """The segments, and how to add up what each operator of a task repeats: once a host, over all hosts."""
        tasks, task = _numbered([part[:3] for part in self.parts])
        segments, segment = _numbered([part[1:] for part in tasks])

        def add(values: Array) -> Array:
            return _together(np.add, _together(np.maximum, values[self.places], task), segment)

        return segments, add


def _since_first(rows: Array) -> Flags:
    """Which seconds count: those from a row's first on, also where it is silent."""
    return np.maximum.accumulate(rows > 0, axis=1)


def _seen(rows: Array, pending: Array) -> Flags:
    """Of the seconds that count those of which all has been told."""
    return _since_first(rows) & (pending == 0)


def _mean_of_seen(values: Array, seen: Flags) -> Array:
    return values.sum(axis=1, where=seen) / np.maximum(seen.sum(axis=1), 1)


def _held(values: Array, pending: Array) -> Array:
    """The last value that is whole stands for those after it that are not yet."""
    last = np.maximum(values.shape[1] - 1 - (pending > 0).sum(axis=1), 0)
    return np.take_along_axis(values, np.minimum(np.arange(values.shape[1]), last[:, None]), axis=1)


def _numbered(names: Sequence[Any]) -> tuple[list[Any], Indices]:
    """The different names, sorted, and the number of each."""
    different = sorted(set(names))
    number = {name: place for place, name in enumerate(different)}
    return different, np.fromiter(map(number.__getitem__, names), np.int64, len(names))


def _together(how: np.ufunc, values: NDArray[Any], group: Indices) -> NDArray[Any]:
    """Rows of the same group put together: one row a group, which are numbered from 0 without a gap."""
    order = group.argsort(kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.asarray(how.reduceat(values[order], starts, axis=0))
