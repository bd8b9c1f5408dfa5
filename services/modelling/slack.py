"""Slack of flows, now and ahead, and the hot spots that follow from it (Synergy 3.3.1), all from what was measured.

A flow waits where its segments run: a stop for each segment and host, with the rate, service and variation that were
measured there. What it takes beside waiting is its measured latency without the waits that the model sees now.
A warning is about the flow that is in danger, and names those that should leave: only these send ants (Synergy 3.4.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import divide
from placement.hotspots import (
    Courses,
    Foresight,
    HotSpot,
    Outlook,
    Stops,
    VerdictParams,
    foresee,
    hot_spots,
    movers,
)
from placement.queueing.arrays import SUMS
from services.modelling.columns import Columns, numbers, optional
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_verdicts import FlowVerdicts
from services.modelling.ring import Array, Indices
from services.modelling.seats import Seats
from services.modelling.slack_errors import SlackErrors
from topics.messages import HotSpotModel, SlackModel

NO_BOUND_MS = 1e12
"""Of a flow without a bound, which is there only for the load that it brings."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Rates of operators: where each stands, what it was lately, and the courses that it may take."""

    places: Mapping[tuple[str, str], int]
    now: Array
    courses: Courses


class HotSpots:
    """Slack and warnings of all flows with a bound; `verdicts`: how the warnings came out.

    A latency is measured over `recent_s`, so that a break may show so much later than it was foreseen for.
    """

    def __init__(self, horizons_s: tuple[int, ...], *, recent_s: int) -> None:
        self._horizons_s = horizons_s
        self._recent_s = recent_s
        self.verdicts = FlowVerdicts(VerdictParams(holds_s=horizons_s[-1] + recent_s))
        self._errors = SlackErrors(horizons_s)
        self._told: set[str] = set()
        """Flows whose warnings stand on the topic."""

    def columns(self, seats: Seats, ahead: Ahead, flows: Mapping[str, FlowFacts], second: int) -> list[Columns]:
        """The models of this second; counts how earlier warnings came out."""
        if not seats.parts:
            return []
        outlook, latency_ms = outlook_of(seats, flows)
        bound = np.flatnonzero((outlook.bounds_ms < NO_BOUND_MS) & np.isfinite(latency_ms))
        if not len(bound):
            return []
        seen = foresee(outlook, _courses(outlook.flows, seats, ahead), np.array(self._horizons_s))
        names = [outlook.flows[flow] for flow in bound]
        slack_ms = outlook.bounds_ms[bound] - latency_ms[bound]
        spots = [spot for spot in hot_spots(outlook, seen, self.verdicts.alarm.level) if spot.flow in set(names)]
        measured = dict(zip(names, slack_ms.tolist(), strict=True))
        self.verdicts.step(second, measured, {spot.flow for spot in spots}, outlook.company())
        self._errors.score(second, measured)
        self._errors.note(second, names, seen.slack_ms[bound])
        off_ms = self._errors.of(names)
        told = Columns(
            SlackModel,
            [f"slack/{name}" for name in names],
            np.ones(len(names)),
            divide(off_ms[:, 0], np.abs(slack_ms)),
            [
                names,
                numbers(outlook.bounds_ms[bound]),
                numbers(latency_ms[bound]),
                numbers(slack_ms),
                [self._horizons_s] * len(names),
                list(zip(*map(numbers, seen.slack_ms[bound].T), strict=True)),
                list(zip(*map(optional, off_ms.T), strict=True)),
            ],
            self._recent_s,
        )
        return [told, *self._warnings(spots, seats, _leavers(outlook, seen, spots))]

    def keep(self, flows: set[str]) -> None:
        """Forgets all others."""
        self._errors.keep(flows)
        self.verdicts.keep(flows)
        self._told &= flows

    def _warnings(
        self, spots: Sequence[HotSpot], seats: Seats, leavers: Mapping[str, tuple[str, ...]]
    ) -> list[Columns]:
        """The warnings that stand, and for those that do no more a word that takes them back."""
        standing = {spot.flow: spot for spot in spots}
        rows: list[tuple[str, str, str, float | None, float, float, tuple[str, ...]]] = []
        for flow in sorted(standing.keys() | self._told):
            spot = standing.get(flow)
            host = spot.host if spot is not None else next(p[0] for p in [*seats.parts, ("-", flow)] if p[1] == flow)
            operator = _heaviest(seats, flow, host)
            if spot is None:
                rows.append((flow, host, operator, None, 0.0, 0.0, ()))
            else:
                leaving = leavers[flow] if leavers[flow] != (flow,) else ()
                rows.append((flow, host, operator, spot.in_s, spot.slack_ms, min(spot.sure, 1.0), leaving))
        self._told = set(standing)
        if not rows:
            return []
        figures = [list(column) for column in zip(*rows, strict=True)]
        keys = [f"hotspot/{row[0]}" for row in rows]
        return [Columns(HotSpotModel, keys, np.ones(len(rows)), np.full(len(rows), np.nan), figures, self._recent_s)]


def outlook_of(seats: Seats, flows: Mapping[str, FlowFacts]) -> tuple[Outlook, Array]:
    """Flows and hosts as arrays, and the measured latency of each flow (NaN: not timed)."""
    names = tuple(sorted({part[1] for part in seats.parts}))
    hosts = tuple(sorted({part[0] for part in seats.parts}))
    stops = sorted({part[:3] for part in seats.parts})
    stop_at = {stop: place for place, stop in enumerate(stops)}
    of_seat = np.array([stop_at[part[:3]] for part in seats.parts])
    flow = np.array([names.index(name) for _, name, _ in stops])
    host = np.array([hosts.index(name) for name, _, _ in stops])
    count = len(stops)
    entering = np.zeros(count)
    np.maximum.at(entering, of_seat, seats.per_s)
    work_us = _added(of_seat, np.nan_to_num(seats.per_s * seats.service_us), count)
    uneven = _added(of_seat, np.nan_to_num(seats.per_s * seats.service_us * seats.cs2), count)
    ca2 = np.zeros(count)
    np.maximum.at(ca2, of_seat, np.nan_to_num(seats.ca2, nan=1.0))
    lag = np.zeros(count)
    np.maximum.at(lag, of_seat, seats.lag)
    service_ms = np.nan_to_num(divide(work_us, entering)) / 1e3
    segment_at = {segment: place for place, segment in enumerate(sorted({stop[1:] for stop in stops}))}
    segment = np.array([segment_at[stop[1:]] for stop in stops])
    share = np.nan_to_num(divide(entering, _added(segment, entering, len(segment_at))[segment]))
    made = Stops(flow, host, entering / 1e3, service_ms, np.nan_to_num(divide(uneven, work_us)), ca2, share)
    latency_ms = np.full(len(names), np.nan)  # to its last segment: the one to which it takes longest
    np.fmax.at(latency_ms, flow[of_seat], seats.latency_ms)
    bounds = [facts.bound_ms if (facts := flows.get(name)) is not None else None for name in names]
    bounds_ms = np.array([NO_BOUND_MS if bound is None else bound for bound in bounds])
    backlog_ms = _added(host, lag * service_ms, len(hosts))
    background = np.zeros((SUMS, len(hosts)))
    bare = Outlook(names, bounds_ms, np.zeros(len(names)), hosts, made, background, backlog_ms)
    now = bare.latencies_ms(bare.waits_ms(np.ones((len(names), 1)), np.array([1.0])))[:, 0]
    base_ms = np.maximum(np.nan_to_num(latency_ms) - now, 0.0)
    return Outlook(names, bounds_ms, base_ms, hosts, made, background, backlog_ms), latency_ms


def _leavers(outlook: Outlook, seen: Foresight, spots: Sequence[HotSpot]) -> dict[str, tuple[str, ...]]:
    """Of each flow in danger who should leave; the same for all that are so at the same host and time."""
    found: dict[tuple[str, float], tuple[str, ...]] = {}
    for spot in spots:
        if (spot.host, spot.in_s) not in found:
            found[spot.host, spot.in_s] = tuple(movers(outlook, seen, spot))
    return {spot.flow: found[spot.host, spot.in_s] for spot in spots}


def _added(group: Indices, values: Array, count: int) -> Array:
    """The values of each group added up."""
    return np.bincount(group, values, count).astype(np.float64)


def _courses(names: Sequence[str], seats: Seats, ahead: Ahead) -> Array:
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
    found[rows] = ahead.courses.ahead(series) / np.maximum(ahead.now[series], 1e-9)[:, None, None]
    return found


def _heaviest(seats: Seats, flow: str, host: str) -> str:
    """The operator of a flow that has the most work on a host."""
    work = np.nan_to_num(seats.per_s * seats.service_us).tolist()
    here = [(load, part[3]) for part, load in zip(seats.parts, work, strict=True) if part[:2] == (host, flow)]
    return max(here)[1] if here else "-"
