"""Models of operators, segments and links as columns: rates, edges, services and delays from sums of seconds."""

from dataclasses import dataclass, fields

import numpy as np

from placement.fits import Execution, Moments, Service, fit_delays, fit_execution, fit_rates, fit_service, mean_error
from placement.fits.arrays import divide
from services.modelling.columns import Columns, numbers, optional
from services.modelling.operators import Operators
from services.modelling.ring import Array
from services.modelling.sums import COLUMNS, SEPARATOR
from services.modelling.windows import Window, mean_of_seen, seen_in
from topics.messages import EdgeModel, LinkModel, RateModel, ServiceModel

LINES_AT_ONCE = 1_024


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


def fit_services(operators: Operators, window: Window) -> ServiceFit:
    """Service times of all seats, and their lines over the rate of the host."""
    times = Moments(window["served"], window["service_us"], window["service_us_sq"])
    host_rates = operators.host_sum(window["arrivals"])
    line = _lines(np.where(times.count > 0, host_rates, np.nan), times.mean)
    return ServiceFit(operators.parts, times, host_rates, fit_service(times), line)


def _lines(host_rates: Array, times: Array) -> Execution:
    """Some at a time: forty arrays of all of them would go through the processor's cache again and again."""
    begins = range(0, max(len(times), 1), LINES_AT_ONCE)
    parts = [fit_execution(*(each[begin : begin + LINES_AT_ONCE] for each in (host_rates, times))) for begin in begins]
    return Execution(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Execution)))


def rate_columns(operators: Operators, window: Window, recent_s: int) -> Columns:
    """What arrives at operators."""
    came = operators.sum(window["came"])
    gaps = operators.sum(window["gaps"])
    # A silent second of an operator that is there is a rate of 0, from its first second on.
    seen = seen_in(operators.sum(window["rows"]), operators.sum(window["pending"]))
    done, outputs = (operators.sum(window[name]) for name in ("arrivals", "outputs"))
    fit = fit_rates(came, done, outputs, Moments(gaps, gaps, operators.sum(window["gaps_sq"])), seen)
    recent = mean_of_seen(came[:, -recent_s:], seen[:, -recent_s:])
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


def edge_columns(operators: Operators, window: Window, recent_s: int) -> Columns:
    """What enters and leaves segments; the error is that of the bytes that enter."""
    names = operators.tasks
    sums = ("rows", "pending", "bytes_in", "bytes_out", "lag")
    found = {name: operators.task_sum(window[name]) for name in sums}
    seen = seen_in(found["rows"], found["pending"])
    seconds = seen.sum(axis=1).astype(float)
    told = (found["rows"] > 0) & seen
    last = np.where(told.any(axis=1), told.shape[1] - 1 - told[:, ::-1].argmax(axis=1), 0)
    first = told.argmax(axis=1)
    every = np.arange(len(names))
    lag = found["lag"][every, last]
    growth = divide(lag - found["lag"][every, first], (last - first).astype(float))
    entering, leaving = (mean_of_seen(found[name], seen) for name in ("bytes_in", "bytes_out"))
    recent = (mean_of_seen(found[name][:, -recent_s:], seen[:, -recent_s:]) for name in ("bytes_in", "bytes_out"))
    return Columns(
        EdgeModel,
        [f"edge/{flow}/{segment}" for flow, segment in names],
        seconds,
        divide(mean_error(found["bytes_in"], seen), entering),
        [
            [flow for flow, _ in names],
            [segment for _, segment in names],
            numbers(entering),
            numbers(leaving),
            numbers(lag),
            numbers(growth),
            numbers(operators.segment_sum(window["state_bytes"])[every, last]),
            *map(numbers, recent),
            [recent_s] * len(names),
        ],
    )


def service_columns(operators: Operators, window: Window, found: ServiceFit, recent_s: int) -> Columns:
    """How long records take where."""
    fit, line, host_rates = found.fit, found.line, found.host_rates
    waits = divide(window["wait_us"].sum(axis=1), window["waited"].sum(axis=1))
    seen = seen_in(operators.host_sum(window["rows"]), operators.host_sum(window["pending"]))
    host_per_s = mean_of_seen(host_rates[:, -recent_s:], seen[:, -recent_s:])
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


def link_columns(names: list[str], window: Window) -> Columns:
    """How long messages travel between hosts, and to brokers."""
    sums = {name: window[name] for name in COLUMNS["link"]}
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
