"""What a host tells of the hot spots that it sees coming, and takes back when they are over."""

from collections.abc import Iterable

from placement.hotspots import NearParams
from services.host.cell.queue_watch import Near, Slot
from topics.messages import HotSpotModel, Model, SeenRate

AGAIN_S = 5.0
"""A warning that stands is said again: another leader may have taken over, or nobody found a place. Who should leave
must not change before ants are done, which takes seconds."""


class NearWarnings:
    """`told` after each look: the models to publish."""

    def __init__(self, host: str, params: NearParams) -> None:
        self._host, self._params = host, params
        self._stands: dict[str, tuple[HotSpotModel, float, float]] = {}
        """By flow: the warning, when it was last seen, and when it was last said."""
        self._leaving: dict[Slot | None, tuple[tuple[str, ...], float]] = {}
        """By queue: who should leave it, and when that was found."""
        self.given = 0

    def told(self, near: Iterable[Near], *, now_ms: float) -> list[Model]:
        """New ones at once, and those that stand from time to time."""
        now_s, said = now_ms / 1e3, list[HotSpotModel]()
        for each in near:
            flow, before = each.spot.flow, self._stands.get(each.spot.flow)
            self.given += before is None
            if before is not None and now_s - before[2] < AGAIN_S:
                self._stands[flow] = (before[0], now_s, before[2])
                continue
            said.append(self._body(each, now_s))
            self._stands[flow] = (said[-1], now_s, now_s)
        for flow, (body, seen_s, _) in sorted(self._stands.items()):
            if now_s - seen_s > self._params.stands_s:
                del self._stands[flow]
                said.append(HotSpotModel(flow, self._host, body.operator, None, 0.0, 0.0))
        return [self._model(body, now_ms) for body in said]

    def _leavers(self, near: Near, now_s: float) -> tuple[str, ...]:
        """One answer for all that are in danger from the same queue, also those seen a moment later: if each named
        others, all of them would leave. Found anew when they have left, or nobody did."""
        self._leaving = {queue: found for queue, found in self._leaving.items() if now_s - found[1] < AGAIN_S}
        leaving, _ = self._leaving.get(near.queue, ((), now_s))
        if not set(leaving) & set(near.outlook.flows):
            leaving = near.leaving()
            self._leaving[near.queue] = (leaving, now_s)
        return leaving

    def _body(self, near: Near, now_s: float) -> HotSpotModel:
        spot, leaving = near.spot, self._leavers(near, now_s)
        named = [(flow, near.rates[flow]) for flow in leaving or (spot.flow,) if flow in near.rates]
        rates = tuple(SeenRate(flow, each.segment, round(each.per_s, 3)) for flow, each in named)
        leaving = leaving if leaving != (spot.flow,) else ()
        return HotSpotModel(spot.flow, self._host, near.operator, spot.in_s, spot.slack_ms, spot.sure, leaving, rates)

    def _model(self, body: HotSpotModel, now_ms: float) -> Model:
        key = f"hotspot/{body.flow}/{self._host}"
        return Model(key, int(now_ms / 1e3), 1, 1, None, int(now_ms), 0, body)
