"""Flows and hosts as hot spots are foreseen from them: where flows wait, how long they take, how they may go on.

A flow waits where its segments run: a stop for each segment and host, with the rate, service and variation that were
measured there. A record's service is all that is done there with it and with what is made of it. What a flow takes
beside waiting is what it took in the quietest of the last seconds, without the waits that the model sees at queues
where nothing has piled up: the mean latency after a burst still has the burst in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placement.fits.arrays import divide
from placement.hotspots import NO_BOUND_MS, Courses, Outlook, Stops
from placement.queueing.arrays import SUMS
from services.modelling.flow_facts import FlowFacts
from services.modelling.ring import Array, Indices
from services.modelling.seats import Seats

SERIES_AT_ONCE = 256
"""Each is compared with thousands of moments: more of them at once would take long to be given memory."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Rates of operators: where each stands, what it was lately, and the courses that it may take."""

    places: Mapping[tuple[str, str], int]
    now: Array
    courses: Courses


@dataclass(frozen=True, slots=True)
class Measured:
    """Of each flow, NaN where it was not timed: its latency, from how many records, and that of each second.

    A flow is timed where its results go to sinks. Where it stalls, it takes at least as long as what waits has waited.
    """

    latency_ms: Array
    by_second_ms: Array
    records: Array
    quietest_ms: Array
    """Of the second in which it was shortest; of what has waited for longer, that."""
    open_s: Array
    """For so many seconds something has waited for it."""

    @property
    def latest_ms(self) -> Array:
        """Of the last second in which it was timed; NaN where it has come to rest since then."""
        timed = np.isfinite(self.by_second_ms)
        silent_s = timed[:, ::-1].argmax(axis=1)
        latest_ms = self.by_second_ms[np.arange(len(timed)), timed.shape[1] - 1 - silent_s]
        return np.where(silent_s <= self.open_s, latest_ms, np.nan)


def outlook_of(seats: Seats, flows: Mapping[str, FlowFacts]) -> tuple[Outlook, Measured]:
    """All flows that are there."""
    name_at = _placed({part[1] for part in seats.parts})
    host_at = _placed({part[0] for part in seats.parts})
    names, hosts = tuple(name_at), tuple(host_at)
    made = _stops(seats, name_at, host_at)
    measured = _measured(seats, np.array([name_at[part[1]] for part in seats.parts]), len(names))
    bounds = [facts.bound_ms if (facts := flows.get(name)) is not None else None for name in names]
    bounds_ms = np.array([NO_BOUND_MS if bound is None else bound for bound in bounds])
    background, nobodys_ms = np.zeros((SUMS, len(hosts))), np.zeros(len(hosts))
    calm = replace(made, backlog_ms=np.zeros(len(made)))
    bare = Outlook(names, bounds_ms, np.zeros(len(names)), hosts, calm, background, nobodys_ms)
    usual = bare.latencies_ms(bare.waits_ms(np.ones((len(names), 1)), np.array([1.0])))[:, 0]
    base_ms = np.maximum(np.nan_to_num(measured.quietest_ms) - usual, 0.0)
    return Outlook(names, bounds_ms, base_ms, hosts, made, background, nobodys_ms), measured


def _stops(seats: Seats, name_at: Mapping[str, int], host_at: Mapping[str, int]) -> Stops:
    """One for each segment and host."""
    stop_at = _placed({part[:3] for part in seats.parts})
    stops, count = tuple(stop_at), len(stop_at)
    of_seat = np.array([stop_at[part[:3]] for part in seats.parts])
    first = of_seat[seats.is_first]
    # What a flat_map makes does not come to the stop: it is work of the record that it was made of.
    entering, entered, ca2, lag = (np.zeros(count) for _ in range(4))
    np.maximum.at(entering, first, seats.per_s[seats.is_first])
    np.maximum.at(entered, first, seats.served[seats.is_first])
    work_us = np.nan_to_num(seats.served * seats.service_us)
    worked_us = _added(of_seat, work_us, count)
    service_ms = np.nan_to_num(divide(worked_us, entered)) / 1e3
    cs2 = np.nan_to_num(divide(_added(of_seat, work_us * seats.cs2, count), worked_us))
    np.maximum.at(ca2, of_seat, np.nan_to_num(seats.ca2, nan=1.0))
    np.maximum.at(lag, of_seat, seats.lag)
    flow = np.array([name_at[name] for _, name, _ in stops])
    host = np.array([host_at[name] for name, _, _ in stops])
    share = _shares(stops, entering, lag)
    return Stops(flow, host, entering / 1e3, service_ms, cs2, ca2, share, lag * service_ms)


def _shares(stops: Sequence[tuple[str, ...]], entering: Array, lag: Array) -> Array:
    """Which share of a segment's records stops at each of its hosts; where none come any more, of those that wait."""
    segment_at = _placed({stop[1:] for stop in stops})
    segment = np.array([segment_at[stop[1:]] for stop in stops])
    come, wait = (_added(segment, values, len(segment_at))[segment] for values in (entering, lag))
    return np.nan_to_num(np.where(come > 0, divide(entering, come), divide(lag, wait)))


def courses_of(names: Sequence[str], seats: Seats, ahead: Ahead) -> Array:
    """Courses over present rates, of each flow's busiest operator: [flow, step, course]."""
    busiest: dict[str, tuple[float, int]] = {}
    for (_, flow, _, operator), per_s in zip(seats.parts, seats.per_s.tolist(), strict=True):
        place = ahead.places.get((flow, operator))
        if place is not None and (flow not in busiest or per_s > busiest[flow][0]):
            busiest[flow] = (per_s, place)
    params = ahead.courses.params
    found = np.ones((len(names), len(params.steps), params.courses))
    rows = [row for row, name in enumerate(names) if name in busiest]
    series = np.array([busiest[names[row]][1] for row in rows], dtype=np.int64)
    for begin in range(0, len(rows), SERIES_AT_ONCE):
        part = series[begin : begin + SERIES_AT_ONCE]
        told = ahead.courses.ahead(part) / np.maximum(ahead.now[part], 1e-9)[:, None, None]
        found[rows[begin : begin + SERIES_AT_ONCE]] = told
    return found


def _measured(seats: Seats, flow: Indices, count: int) -> Measured:
    """At the segment with a sink to which it takes longest."""
    latency_ms, by_second_ms = np.full(count, np.nan), np.full((count, seats.by_second_ms.shape[1]), np.nan)
    last = np.flatnonzero(seats.at_sinks)
    np.fmax.at(latency_ms, flow[last], seats.latency_ms[last])
    longest, records = last[seats.latency_ms[last] == latency_ms[flow[last]]], np.zeros(count)
    np.maximum.at(records, flow[longest], seats.timed[longest])
    np.fmax.at(by_second_ms, flow[longest], seats.by_second_ms[longest])
    quietest_ms = np.fmin.reduce(by_second_ms, axis=1)
    stalled_ms = np.zeros(by_second_ms.shape)
    np.maximum.at(stalled_ms, flow, seats.stalled_ms)
    stalled_ms[stalled_ms == 0] = np.nan
    now_ms, open_s = stalled_ms[:, -1], np.zeros(count)
    np.maximum.at(open_s, flow, seats.open_s)
    return Measured(
        np.fmax(latency_ms, now_ms), np.fmax(by_second_ms, stalled_ms), records, np.fmax(quietest_ms, now_ms), open_s
    )


def _placed(names: set[Any]) -> dict[Any, int]:
    """Each in its place of their order."""
    return {name: place for place, name in enumerate(sorted(names))}


def _added(group: Indices, values: Array, count: int) -> Array:
    """The values of each group added up."""
    return np.bincount(group, values, count).astype(np.float64)
