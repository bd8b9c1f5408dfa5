"""The models of flows that are led here, as `stig.models` tells them, and what of them is to be trusted. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from placement.inputs import Estimate, TrustParams, doubt
from topics.messages import ForecastModel, HotSpotModel, Model, RateModel, ServiceModel

HORIZON_S = 10
"""How far ahead the brain looks: about what ants, a plan and a move take."""
LATE_S = 5.0
"""From a second to the models of it and to here; a bound that has just broken is worth ants too."""
BROKEN_HEEDED_S = 10.0
"""That a bound is broken is true for longer: on a busy machine models of a second come four seconds after it."""


@dataclass(slots=True)
class FlowModels:
    """The models of one flow at one moment; what is missing, old or unsure is None."""

    now_s: float
    capacities: Mapping[str, float]
    trust: TrustParams
    rates: dict[str, Model] = field(default_factory=dict)
    forecasts: dict[str, Model] = field(default_factory=dict)
    services: dict[str, dict[str, Model]] = field(default_factory=dict)
    """Operator -> host -> model."""

    def rate_per_s(self, operator: str) -> float | None:
        """What will arrive at an operator when what is decided now is carried out: the forecast that is furthest ahead,
        of those until the horizon that are to be trusted. A spike that will be over by then is not worth a move."""
        model = self.forecasts.get(operator)
        if model is None or not isinstance(body := model.body, ForecastModel):
            return None
        found: dict[int, float] = {}
        for horizon_s, value, error in zip(body.horizons_s, body.per_s, body.errors_per_s, strict=True):
            relative = None if error is None else error / max(value, 1e-9)
            if horizon_s <= HORIZON_S and self._use(model, value, relative):
                found[horizon_s] = value
        return found[max(found)] if found else None

    def ca2(self, operator: str) -> float | None:
        """Squared variation of the times between arrivals."""
        body = self._rate(operator)
        return body.ca2 if body is not None else None

    def selectivity(self, operator: str) -> float | None:
        """Records out for one in."""
        body = self._rate(operator)
        return body.selectivity if body is not None else None

    def service_vwu(self, operator: str) -> tuple[float, float] | None:
        """Mean and variance of a record's service at capacity 1, over all hosts by how much each has served."""
        found = [
            (model.samples, body.mean_us * self.capacities.get(host, 1.0) / 1e3, body.cs2)
            for host, model in sorted(self.services.get(operator, {}).items())
            if isinstance(body := model.body, ServiceModel) and self._use(model, body.mean_us, model.error, lasts=True)
        ]
        served = sum(samples for samples, _, _ in found)
        if not served:
            return None
        mean = sum(samples * each for samples, each, _ in found) / served
        square = sum(samples * each * each * (1 + cs2) for samples, each, cs2 in found) / served
        return mean, max(0.0, square - mean * mean)

    def _rate(self, operator: str) -> RateModel | None:
        """For what it says of the operator; its rate itself nobody asks for: forecasts tell it."""
        model = self.rates.get(operator)
        if model is None or not isinstance(body := model.body, RateModel):
            return None
        return body if self._use(model, body.per_s, model.error, lasts=True) else None

    def _use(self, model: Model, value: float, error: float | None, *, lasts: bool = False) -> bool:
        return doubt(Estimate(value, error, self.now_s - model.second, lasts), self.trust) is None


SET_BACK_S = 130
"""Models come in their order, and no query begins further back than a window and a little more: those so much older are
of a clock that was set back."""


class KnownModels:
    """The newest models by flow."""

    def __init__(self, trust: TrustParams | None = None) -> None:
        self._trust = trust or TrustParams()
        self._models: dict[str, dict[str, Model]] = {}

    def add(self, model: Model) -> None:
        """One model of a flow; an older one of the same key than is known changes nothing."""
        if isinstance(model.body, RateModel | ForecastModel | ServiceModel):
            of = self._models.setdefault(model.body.flow, {})
            known = of.get(model.key)
            if known is None or known.order <= model.order or model.second < known.second - SET_BACK_S:
                of[model.key] = model

    @property
    def count(self) -> int:
        """How many models are known."""
        return sum(map(len, self._models.values()))

    def forget(self, flow: str) -> None:
        """Nobody here asks for this flow any more."""
        self._models.pop(flow, None)

    def of(self, flow: str, capacities: Mapping[str, float], *, now_s: float) -> FlowModels | None:
        """What is known of a flow; None if nothing is. What is too old for anything is forgotten: operators change, and
        hosts of ever new names come and go."""
        since = now_s - self._trust.lasting_age_s_max
        models = {key: model for key, model in self._models.pop(flow, {}).items() if model.second >= since}
        if not models:
            return None
        self._models[flow] = models
        found = FlowModels(now_s, capacities, self._trust)
        for model in models.values():
            match model.body:
                case RateModel(operator=operator):
                    found.rates[operator] = model
                case ForecastModel(operator=operator):
                    found.forecasts[operator] = model
                case ServiceModel(operator=operator, host=host):
                    found.services.setdefault(operator, {})[host] = model
        return found


def is_warning(model: Model, *, now_s: float) -> bool:
    """Whether a model is a hot-spot forecast whose time has not long passed."""
    body, age_s = model.body, now_s - model.second
    if not isinstance(body, HotSpotModel) or body.in_s is None:
        return False
    return -LATE_S <= age_s <= (body.in_s + LATE_S if body.in_s else BROKEN_HEEDED_S)
