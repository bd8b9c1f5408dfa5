"""Models for people: what each says in a word, and what to draw of it."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from services.whatif.recorded import read_rows
from topics.catalogue import METRICS_LINKS, METRICS_OPERATORS
from topics.messages import (
    EdgeModel,
    ForecastModel,
    HotSpotModel,
    LinkModel,
    Model,
    RateModel,
    ScoreModel,
    ServiceModel,
    SignatureModel,
    SlackModel,
)

Point = tuple[float, float]
DRAWN_S = 120
"""A forecast rests on more than can be seen beside the seconds to come."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Points, and the curve through them up to `until`."""

    points: list[Point]
    curve: Callable[[float], float] | None
    until: float | None
    x_unit: str
    y_unit: str


def headline(model: Model) -> str:  # noqa: PLR0911 - one line a kind
    """What a model says, in a few words."""
    match model.body:
        case RateModel() as rate:
            return f"{rate.per_s:,.6g}/s, lately {rate.recent_per_s:,.6g}/s{_more(' ca2', rate.ca2)}"
        case EdgeModel() as edge:
            return f"{edge.bytes_in_per_s:,.4g} B/s in, {edge.bytes_out_per_s:,.4g} B/s out, {edge.lag:,.0f} waiting"
        case ServiceModel() as service:
            return f"{service.mean_us:,.4g} us at {service.host_per_s:,.4g}/s, cs2 {service.cs2:.3g}"
        case LinkModel() as link:
            return f"{link.mean_ms:.4g} ms one way, at best {link.min_ms:.4g} ms, {link.lost:.1%} lost"
        case ForecastModel() as ahead:
            told = (
                f"{rate:,.6g}/s in {after_s} s" for after_s, rate in zip(ahead.horizons_s, ahead.per_s, strict=True)
            )
            return ", ".join(told)
        case SignatureModel() as signature:
            return f"{len(signature.load)} segments, load up to {max(signature.load, default=0.0):.3g}"
        case SlackModel() as slack:
            return f"{slack.slack_ms:,.4g} ms left of {slack.bound_ms:,.6g} ms"
        case HotSpotModel() as spot:
            when = "over" if spot.in_s is None else f"in {spot.in_s:.1f} s" if spot.in_s else "now"
            leaving = f"; {', '.join(spot.leaving)} should leave" if spot.leaving else ""
            return f"{spot.operator} on {spot.host} {when}, {spot.probability:.0%} sure{leaving}"
        case ScoreModel() as score:
            return f"{score.predictions:,} predictions{_more(' WAPE', score.wape)}"


def points_and_curve(model: Model, bootstrap: str) -> Drawn | None:  # noqa: PLR0911 - one a kind
    """What was measured in the model's window, read from the metrics topics, and its curve. None: nothing to draw."""
    since_s, until_s = model.second - model.window_s + 1, model.second + 1
    match model.body:
        case RateModel() as rate:
            points = _rates(bootstrap, rate.flow, rate.operator, since_s, until_s)
            return Drawn(points, lambda _: rate.per_s, None, "s ago", "1/s")
        case ForecastModel() as ahead:
            points = _rates(bootstrap, ahead.flow, ahead.operator, max(since_s, until_s - DRAWN_S), until_s)
            known = [(0.0, ahead.now_per_s), *zip(ahead.horizons_s, ahead.per_s, strict=True)]
            return Drawn(points, lambda x: _between(known, x), float(ahead.horizons_s[-1]), "s from now", "1/s")
        case ServiceModel() as service:
            points = _services(bootstrap, service, since_s, until_s)
            slope, intercept = service.slope_us_s, service.intercept_us
            if slope is None or intercept is None:
                return Drawn(points, lambda _: service.mean_us, None, "records/s on the host", "us")
            return Drawn(points, lambda rate: intercept + slope * rate, None, "records/s on the host", "us")
        case LinkModel() as link:
            points = _delays(bootstrap, link, since_s, until_s)
            return Drawn(points, lambda _: link.mean_ms, None, "s ago", "ms")
        case EdgeModel() as edge:
            points = _bytes(bootstrap, edge, since_s, until_s)
            return Drawn(points, lambda _: edge.bytes_in_per_s, None, "s ago", "B/s")
        case SlackModel() as slack:
            points = _latencies(bootstrap, slack.flow, until_s - DRAWN_S, until_s)
            coming = zip(map(float, slack.horizons_s), slack.ahead_slack_ms, strict=True)
            told = [(0.0, slack.latency_ms), *((in_s, slack.bound_ms - left_ms) for in_s, left_ms in coming)]
            return Drawn(points, lambda x: _between(told, x), told[-1][0], "s from now", "ms")
        case HotSpotModel() as spot:
            return Drawn(_latencies(bootstrap, spot.flow, until_s - DRAWN_S, until_s), None, None, "s ago", "ms")
        case SignatureModel() as signature:
            steps = [
                load for lasted, load in zip(signature.lasted_s, signature.load, strict=True) for _ in range(lasted)
            ]
            last = len(steps) - 1
            return Drawn([(float(place - last), load) for place, load in enumerate(steps)], None, None, "s ago", "load")
        case _:
            return None


def _rates(bootstrap: str, flow: str, operator: str, since_s: int, until_s: int) -> list[Point]:
    arrivals: dict[int, float] = defaultdict(float)
    for row in read_rows(bootstrap, METRICS_OPERATORS, since_s, until_s):
        if (row.flow, row.operator) == (flow, operator):
            arrivals[row.second] += row.arrivals
    return [(float(second - until_s + 1), count) for second, count in sorted(arrivals.items())]


def _services(bootstrap: str, model: ServiceModel, since_s: int, until_s: int) -> list[Point]:
    total: dict[int, float] = defaultdict(float)
    served: dict[int, Point] = defaultdict(lambda: (0.0, 0.0))
    for row in read_rows(bootstrap, METRICS_OPERATORS, since_s, until_s):
        if row.host == model.host:
            total[row.second] += row.arrivals
            if (row.flow, row.operator) == (model.flow, model.operator):
                count, time_us = served[row.second]
                served[row.second] = (count + row.service_us.count, time_us + row.service_us.sum)
    return [(total[second], time_us / count) for second, (count, time_us) in sorted(served.items()) if count]


def _delays(bootstrap: str, model: LinkModel, since_s: int, until_s: int) -> list[Point]:
    rows = read_rows(bootstrap, METRICS_LINKS, since_s, until_s)
    ours = (row for row in rows if (row.host, row.peer) == (model.host, model.peer) and row.round_trip_ms.count)
    return [(float(row.second - until_s + 1), row.round_trip_ms.sum / row.round_trip_ms.count / 2) for row in ours]


def _bytes(bootstrap: str, model: EdgeModel, since_s: int, until_s: int) -> list[Point]:
    """What entered the segment. Each operator of a task repeats it."""
    entered: dict[tuple[int, str, int], float] = {}
    for row in read_rows(bootstrap, METRICS_OPERATORS, since_s, until_s):
        if (row.flow, row.segment) == (model.flow, model.segment):
            task = row.second, row.host, row.partition
            entered[task] = max(entered.get(task, 0.0), float(row.bytes_in))
    total: dict[int, float] = defaultdict(float)
    for (second, _, _), size in entered.items():
        total[second] += size
    return [(float(second - until_s + 1), size) for second, size in sorted(total.items())]


def _latencies(bootstrap: str, flow: str, since_s: int, until_s: int) -> list[Point]:
    """To where records of the flow take longest to come, which is its end."""
    timed: dict[tuple[int, str, str], Point] = defaultdict(lambda: (0.0, 0.0))
    for row in read_rows(bootstrap, METRICS_OPERATORS, since_s, until_s):
        if row.flow == flow and row.latency_ms is not None and row.latency_ms.count:
            place = row.second, row.host, row.segment
            count, sum_ms = timed[place]
            timed[place] = (count + row.latency_ms.count, sum_ms + row.latency_ms.sum)
    longest: dict[int, float] = {}
    for (second, _, _), (count, sum_ms) in timed.items():
        longest[second] = max(longest.get(second, 0.0), sum_ms / count)
    return [(float(second - until_s + 1), latency_ms) for second, latency_ms in sorted(longest.items())]


def _between(known: list[Point], x: float) -> float:
    """Straight from one known point to the next; before the first one its value."""
    before = [point for point in known if point[0] <= x] or known[:1]
    after = [point for point in known if point[0] >= x] or known[-1:]
    (low, start), (high, end) = before[-1], after[0]
    return start if high <= low else start + (end - start) * (x - low) / (high - low)


def _more(name: str, value: float | None) -> str:
    return f",{name} {value:.3g}" if value is not None else ""
