"""What a host tells of the hot spots that it sees coming, and takes back when they are over."""

from collections.abc import Callable, Iterable

from placement.hotspots import NearParams, NearSpot
from topics.messages import HotSpotModel, Model

AGAIN_S = 1.0
"""A warning that stands is said again: another leader may have taken over."""


class NearWarnings:
    """`told` after each look: the models to publish."""

    def __init__(self, host: str, params: NearParams) -> None:
        self._host, self._params = host, params
        self._stands: dict[str, tuple[HotSpotModel, float, float]] = {}
        """By flow: the warning, when it was last seen, and when it was last said."""
        self.given = 0

    def told(self, spots: Iterable[NearSpot], operator_of: Callable[[str], str], *, now_ms: float) -> list[Model]:
        """New ones at once; `operator_of`: the first one of a flow here."""
        now_s, said = now_ms / 1e3, list[HotSpotModel]()
        for near in spots:
            spot = near.spot
            leaving = near.leaving if near.leaving != (spot.flow,) else ()
            body = HotSpotModel(
                spot.flow, self._host, operator_of(spot.flow), spot.in_s, spot.slack_ms, spot.sure, leaving
            )
            before = self._stands.get(spot.flow)
            self.given += before is None
            said_s = before[2] if before is not None and now_s - before[2] < AGAIN_S else now_s
            self._stands[spot.flow] = (body, now_s, said_s)
            said += [body] if said_s == now_s else []
        for flow, (body, seen_s, _) in sorted(self._stands.items()):
            if now_s - seen_s > self._params.stands_s:
                del self._stands[flow]
                said.append(HotSpotModel(flow, self._host, body.operator, None, 0.0, 0.0))
        return [self._model(body, now_ms) for body in said]

    def _model(self, body: HotSpotModel, now_ms: float) -> Model:
        key = f"hotspot/{body.flow}/{self._host}"
        return Model(key, int(now_ms / 1e3), 1, 1, None, int(now_ms), 0, body)
