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
    """Of each flow, NaN where it was not timed: its latency, from how many records, and that of each second."""

    latency_ms: Array
    by_second_ms: Array
    records: Array

    @property
    def latest_ms(self) -> Array:
        """Of the last second in which it was timed."""
        timed = np.isfinite(self.by_second_ms)
        last = timed.shape[1] - 1 - timed[:, ::-1].argmax(axis=1)
        return np.asarray(self.by_second_ms[np.arange(len(last)), last])

    @property
    def quietest_ms(self) -> Array:
        """Of the second in which it was shortest."""
        return np.asarray(np.fmin.reduce(self.by_second_ms, axis=1))


def outlook_of(seats: Seats, flows: Mapping[str, FlowFacts]) -> tuple[Outlook, Measured]:
    """All flows that are there."""
    name_at = _placed({part[1] for part in seats.parts})
    host_at = _placed({part[0] for part in seats.parts})
    stop_at = _placed({part[:3] for part in seats.parts})
    names, hosts, stops = tuple(name_at), tuple(host_at), tuple(stop_at)
    of_seat = np.array([stop_at[part[:3]] for part in seats.parts])
    flow = np.array([name_at[name] for _, name, _ in stops])
    host = np.array([host_at[name] for name, _, _ in stops])
    count = len(stops)
    entering = np.zeros(count)
    # What a flat_map makes does not come to the stop: it is work of the record that it was made of.
    np.maximum.at(entering, of_seat[seats.is_first], seats.per_s[seats.is_first])
    work_us = _added(of_seat, np.nan_to_num(seats.per_s * seats.service_us), count)
    uneven = _added(of_seat, np.nan_to_num(seats.per_s * seats.service_us * seats.cs2), count)
    ca2 = np.zeros(count)
    np.maximum.at(ca2, of_seat, np.nan_to_num(seats.ca2, nan=1.0))
    lag = np.zeros(count)
    np.maximum.at(lag, of_seat, seats.lag)
    service_ms = np.nan_to_num(divide(work_us, entering)) / 1e3
    segment_at = _placed({stop[1:] for stop in stops})
    segment = np.array([segment_at[stop[1:]] for stop in stops])
    share = np.nan_to_num(divide(entering, _added(segment, entering, len(segment_at))[segment]))
    cs2 = np.nan_to_num(divide(uneven, work_us))
    made = Stops(flow, host, entering / 1e3, service_ms, cs2, ca2, share, lag * service_ms)
    measured = _measured(seats, flow[of_seat], len(names))
    bounds = [facts.bound_ms if (facts := flows.get(name)) is not None else None for name in names]
    bounds_ms = np.array([NO_BOUND_MS if bound is None else bound for bound in bounds])
    background, nobodys_ms = np.zeros((SUMS, len(hosts))), np.zeros(len(hosts))
    calm = replace(made, backlog_ms=np.zeros(count))
    bare = Outlook(names, bounds_ms, np.zeros(len(names)), hosts, calm, background, nobodys_ms)
    usual = bare.latencies_ms(bare.waits_ms(np.ones((len(names), 1)), np.array([1.0])))[:, 0]
    base_ms = np.maximum(np.nan_to_num(measured.quietest_ms) - usual, 0.0)
    return Outlook(names, bounds_ms, base_ms, hosts, made, background, nobodys_ms), measured


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
    """To the last segment of each flow: the one to which it takes longest."""
    latency_ms, by_second_ms = np.full(count, np.nan), np.full((count, seats.by_second_ms.shape[1]), np.nan)
    np.fmax.at(latency_ms, flow, seats.latency_ms)
    longest, records = seats.latency_ms == latency_ms[flow], np.zeros(count)
    np.maximum.at(records, flow[longest], seats.timed[longest])
    np.fmax.at(by_second_ms, flow[longest], seats.by_second_ms[longest])
    return Measured(latency_ms, by_second_ms, records)


def _placed(names: set[Any]) -> dict[Any, int]:
    """Each in its place of their order."""
    return {name: place for place, name in enumerate(sorted(names))}


def _added(group: Indices, values: Array, count: int) -> Array:
    """The values of each group added up."""
    return np.bincount(group, values, count).astype(np.float64)
