"""The warnings that stand on the topic, who should leave because of them, and those that are taken back.

A warning is about the flow that is in danger, and names those that should leave: only these send ants (Synergy 3.4.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from placement.hotspots import Foresight, HotSpot, Outlook, Stops, movers
from services.modelling.columns import Columns
from services.modelling.ring import Indices
from services.modelling.seats import Seats
from topics.messages import HotSpotModel

LEAVERS_S = 5
"""Who should leave a host is found anew after so long, or when somebody has come or gone: ants take longer."""


@dataclass(frozen=True, slots=True)
class Warned:
    """The hot spots of a second, what they were found by, and what they rest on."""

    spots: Sequence[HotSpot]
    broken: Mapping[str, float]
    """Flows whose bounds are broken now, and by how much: their slack (ms)."""
    outlook: Outlook
    ahead: Foresight
    records: Mapping[str, int]
    """Of each flow how many records its latency was taken from."""
    false_share: float
    """Of such warnings so far; NaN: none was judged."""


class StandingWarnings:
    """`columns` once a second; `take_back` where nothing can be foreseen any more."""

    def __init__(self, window_s: int) -> None:
        self._window_s = window_s
        self.flows: set[str] = set()
        """Whose warnings stand."""
        self._before: tuple[int, set[str]] = (0, set())
        """Whose did before the second that was told last: it is told again if it could not be written."""
        self._leavers: dict[str, _Leavers] = {}
        """Of hosts."""

    def columns(self, warned: Warned, seats: Seats, second: int) -> list[Columns]:
        """The warnings that stand, and for those that do no more a word that takes them back."""
        before = self._stood(second)
        standing = {spot.flow: spot for spot in warned.spots}
        self._leavers = self._find_leavers(warned, second)
        rows = []
        if standing or before:
            heaviest = _heaviest(seats)
            for flow in sorted(standing.keys() | before):
                spot = standing.get(flow)
                if spot is None:
                    rows.append(_taken_back(flow, heaviest.get((None, flow), ("-", "-"))))
                    continue
                _, operator = heaviest.get((spot.host, flow), ("-", "-"))
                leaving = self._leavers[spot.host][2]
                leaving = leaving if leaving != (flow,) else ()
                figures = (spot.in_s, spot.slack_ms, min(spot.sure, 1.0))
                if flow in warned.broken:
                    figures = (0.0, warned.broken[flow], 1.0)
                rows.append((flow, spot.host, operator, *figures, leaving))
        self.flows = set(standing)
        samples = [warned.records.get(row[0], 0) if row[3] is not None else 0 for row in rows]
        errors = [warned.false_share if row[3] is not None else np.nan for row in rows]
        return self._told(rows, samples, errors)

    def take_back(self, second: int) -> list[Columns]:
        """All that stand."""
        rows = [_taken_back(flow, ("-", "-")) for flow in sorted(self._stood(second))]
        self.flows = set()
        return self._told(rows, [0] * len(rows), [np.nan] * len(rows))

    def _stood(self, second: int) -> set[str]:
        if second != self._before[0]:
            self._before = (second, self.flows)
        return self._before[1]

    def _told(self, rows: Sequence["_Row"], samples: Sequence[int], errors: Sequence[float]) -> list[Columns]:
        if not rows:
            return []
        figures = [list(column) for column in zip(*rows, strict=True)]
        keys = [f"hotspot/{row[0]}" for row in rows]
        return [Columns(HotSpotModel, keys, np.array(samples, float), np.array(errors, float), figures, self._window_s)]

    def _find_leavers(self, warned: Warned, second: int) -> dict[str, "_Leavers"]:
        """Of each host by its first spot, which is the soonest."""
        outlook, found = warned.outlook, {}
        for spot in warned.spots:
            if spot.host in found:
                continue
            here = outlook.stops.host == outlook.hosts.index(spot.host)
            company = frozenset(outlook.flows[flow] for flow in outlook.stops.flow[here].tolist())
            known = self._leavers.get(spot.host)
            if known is None or known[1] != company or second - known[0] >= LEAVERS_S:
                around = _around(outlook, warned.ahead, spot, outlook.stops.flow[here])
                known = (second, company, tuple(movers(*around, spot)))
            found[spot.host] = known
        return found


_Row = tuple[str, str, str, float | None, float, float, tuple[str, ...]]
_Leavers = tuple[int, frozenset[str], tuple[str, ...]]
"""When it was found, who was there, and who of them should leave."""


def _taken_back(flow: str, where: tuple[str, str]) -> _Row:
    return flow, *where, None, 0.0, 0.0, ()


def _around(outlook: Outlook, ahead: Foresight, spot: HotSpot, here: Indices) -> tuple[Outlook, Foresight]:
    """What bears on these flows until then: no other stops than at their hosts, and no later horizons."""
    stops = outlook.stops
    hosts = np.unique(stops.host[np.isin(stops.flow, here)])
    near = np.isin(stops.host, hosts)
    until = int(np.searchsorted(ahead.horizons_s, spot.in_s)) + 1
    return (
        replace(outlook, stops=Stops(*(getattr(stops, field.name)[near] for field in fields(stops)))),
        replace(ahead, horizons_s=ahead.horizons_s[:until], factors=ahead.factors[:, :until]),
    )


def _heaviest(seats: Seats) -> dict[tuple[str | None, str], tuple[str, str]]:
    """Of each host and flow the operator with the most work there; without a host, where the flow has the most."""
    work = np.nan_to_num(seats.per_s * seats.service_us)
    found: dict[tuple[str | None, str], tuple[str, str]] = {}
    for seat in np.argsort(work, kind="stable").tolist():
        host, flow, _, operator = seats.parts[seat]
        found[host, flow] = found[None, flow] = (host, operator)
    return found
