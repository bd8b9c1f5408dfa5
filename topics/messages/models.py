"""What the modelling service makes of metrics: fitted models, each with what it rests on and how far to trust it.

A model's key is its kind and the names that it is about, such as `rate/FLOW/OPERATOR`; the newest one of a key counts.
The service writes at least once: of two models with the same key the one with the larger (second, batch) is newer.

| key | about |
|---|---|
| `rate/FLOW/OPERATOR` | what arrives at an operator, over all its partitions and hosts |
| `edge/FLOW/SEGMENT` | what enters and leaves a segment in bytes, and what waits before it |
| `service/FLOW/OPERATOR/HOST` | how long a host takes for a record of an operator, and how that depends on its load |
| `link/HOST/PEER` | delay between two hosts, or from a host to a broker |
| `forecast/FLOW/OPERATOR` | the rate of an operator some seconds ahead |
| `signature/FLOW/OPERATOR` | segments of high and low rate of a bursty stream (Synergy 2.3.4) |
| `slack/FLOW` | bound minus latency of a flow, now and some seconds ahead (Synergy 3.3.1) |
| `hotspot/FLOW` | that a flow's bound will break: where, when, how sure |
| `hotspot/FLOW/HOST` | the same, by a host that looks at its own queue |
| `score/KIND/WHAT` | how wrong the models of a kind have been |

Fields are positional, so that whole columns become messages without a Python step for each.
"""

from typing import Annotated

import msgspec

from topics.messages.base import Amount, Count, Message, Name, Origin, Positive, Text, TimeMs

HORIZONS_MAX = 16
SIGNATURE_MAX = 240
LEAVING_MAX = 8
OFFSETS_MAX = 100

Key = Annotated[str, msgspec.Meta(min_length=3, max_length=1_024)]
Figures = Annotated[tuple[float, ...], msgspec.Meta(max_length=HORIZONS_MAX)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Body(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="kind"):
    """What one kind of model says; `kind` comes first in its JSON, and is the first part of its key."""


class RateModel(Body, frozen=True, tag="rate"):
    """Arrivals at an operator: the moments that the queueing model needs (Ants 3.6).

    - `per_s`: over the whole window; `recent_per_s`: over its last `recent_s` seconds;
    - `ca2`: squared coefficient of variation of the times between arrivals; None: too few arrivals;
    - `selectivity`: records out for one in; None: too few arrivals.
    """

    flow: Name
    segment: Name
    operator: Name
    per_s: Amount
    recent_per_s: Amount
    recent_s: Positive
    ca2: Amount | None = None
    selectivity: Amount | None = None


class EdgeModel(Body, frozen=True, tag="edge"):
    """What enters and leaves a segment, over the whole window and over its last `recent_s` seconds.

    `lag`: records that wait before it now; its growth is negative on the mend. The bytes of an operator are those of
    its segment: between operators of one segment nothing is written.
    """

    flow: Name
    segment: Name
    bytes_in_per_s: Amount
    bytes_out_per_s: Amount
    lag: Amount
    lag_growth_per_s: float
    state_bytes: Amount
    recent_bytes_in_per_s: Amount | None = None
    recent_bytes_out_per_s: Amount | None = None
    recent_s: Positive | None = None


class ServiceModel(Body, frozen=True, tag="service"):
    """Time that a host takes for a record of an operator.

    The regression (Synergy 3.3.2) says how it depends on the host's total rate, all its operators together:
    `intercept_us + slope_us_s * rate`, fitted to `points` seconds around (`mean_per_s`, `mean_us`). `slope_error`: its
    standard error, None where the rate never changed; `miss`: relative size that 68 % of predictions stay within. All
    of it is None where there are too few points. `host_per_s`: that rate now. `wait_us`: what a record waited before.
    """

    flow: Name
    segment: Name
    operator: Name
    host: Name
    mean_us: Amount
    cs2: Amount
    wait_us: Amount
    host_per_s: Amount
    points: Count
    slope_us_s: float | None = None
    intercept_us: float | None = None
    slope_error: Amount | None = None
    miss: Amount | None = None
    mean_per_s: Amount | None = None


class LinkModel(Body, frozen=True, tag="link"):
    """Delays one way, half of a round trip; `lost`: share of probes without an answer in time."""

    host: Name
    peer: Name
    mean_ms: Amount
    variance_ms2: Amount
    min_ms: Amount
    lost: Share


class ForecastModel(Body, frozen=True, tag="forecast"):
    """Rates at some horizons. `errors_per_s`: mean absolute error of such forecasts lately (None: none came due yet).

    `guide`: the upstream operator whose changes tell this one's `guide_lag_s` later (Synergy 3.3.3), if there is one;
    `season_s`: after how long the rate repeats itself, 0 for not.
    """

    flow: Name
    operator: Name
    now_per_s: Amount
    horizons_s: Annotated[tuple[Positive, ...], msgspec.Meta(max_length=HORIZONS_MAX)]
    per_s: Figures
    errors_per_s: Annotated[tuple[Amount | None, ...], msgspec.Meta(max_length=HORIZONS_MAX)]
    guide: Name | None = None
    guide_lag_s: Count = 0
    season_s: Count = 0


class SignatureModel(Body, frozen=True, tag="signature"):
    """The load of a bursty stream, segment by segment, oldest first: how many seconds each lasted, and its load.

    Load is seconds of work for each second, on a host of capacity 1.
    """

    flow: Name
    operator: Name
    lasted_s: Annotated[tuple[Positive, ...], msgspec.Meta(max_length=SIGNATURE_MAX)]
    load: Annotated[tuple[Amount, ...], msgspec.Meta(max_length=SIGNATURE_MAX)]


class SlackModel(Body, frozen=True, tag="slack"):
    """Bound minus latency of a flow: now as measured, and forecast at some horizons, each with its mean error."""

    flow: Name
    bound_ms: Amount
    latency_ms: Amount
    slack_ms: float
    horizons_s: Annotated[tuple[Positive, ...], msgspec.Meta(max_length=HORIZONS_MAX)] = ()
    ahead_slack_ms: Figures = ()
    ahead_error_ms: Annotated[tuple[Amount | None, ...], msgspec.Meta(max_length=HORIZONS_MAX)] = ()


class SeenRate(msgspec.Struct, frozen=True, gc=False):
    """What entered a segment of a flow at one host just now, less what may be chance."""

    flow: Name
    segment: Name
    per_s: Amount


class HotSpotModel(Body, frozen=True, tag="hotspot"):
    """A flow whose bound is about to break. `host` and `operator`: where it is tightest; `probability`: how sure.

    `in_s` 0: it is broken already, which is no forecast; None takes an earlier warning back. `leaving`: the flows that
    should leave the host, so that those that stay keep their bounds; only their leaders act (Synergy 3.4.1). Empty: the
    flow itself. `rates`: how fast these come now, as far as who warns has seen it; models know it seconds later.
    """

    flow: Name
    host: Name
    operator: Name
    in_s: Amount | None
    slack_ms: float
    probability: Share
    leaving: Annotated[tuple[Name, ...], msgspec.Meta(max_length=LEAVING_MAX)] = ()
    rates: Annotated[tuple[SeenRate, ...], msgspec.Meta(max_length=LEAVING_MAX)] = ()

    @property
    def leavers(self) -> tuple[str, ...]:
        """Whose leaders are to act."""
        return self.leaving or (self.flow,)

    def rate_of(self, flow: str) -> SeenRate | None:
        """How fast one of them comes."""
        return next((rate for rate in self.rates if rate.flow == flow), None)


class ScoreModel(Body, frozen=True, tag="score"):
    """Predicted against measured. `wape`: sum of absolute errors over sum of values; `naive_wape`: of the last value.

    `inside`: share within one standard error. Of hot-spot forecasts: precision, recall and the median lead time.
    `size` (that sum of values) and `broken` (how many bounds broke) let the service go on from here after a restart.
    """

    of: Name
    what: Name
    predictions: Count
    wape: Amount | None = None
    naive_wape: Amount | None = None
    precision: Share | None = None
    recall: Share | None = None
    lead_s: Amount | None = None
    inside: Share | None = None
    size: Amount | None = None
    broken: Count | None = None


AnyBody = (
    RateModel
    | EdgeModel
    | ServiceModel
    | LinkModel
    | ForecastModel
    | SignatureModel
    | SlackModel
    | HotSpotModel
    | ScoreModel
)


class Model(Message, frozen=True):
    """One model. It rests on `samples` observations of the `window_s` seconds that end with `second`.

    `error`: relative standard error of its main figure, 0.1 being 10 %; None: it can't be told. `made_ms`: by the clock
    of the service; `batch`: which micro-batch of the service made it.
    """

    key: Key
    second: Count
    window_s: Positive
    samples: Count
    error: Amount | None
    made_ms: TimeMs
    batch: Count
    body: AnyBody

    @property
    def order(self) -> tuple[int, int]:
        """Of two models with the same key the larger is the newer."""
        return self.second, self.batch


class RejectedMetrics(Message, frozen=True, kw_only=True):
    """Metrics that could not be used, near each other on one partition: where each is, and what was wrong with one.

    `origin` and `value` are the first one's; `value` is cut to what a look at it needs.
    """

    origin: Origin
    offsets: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1, max_length=OFFSETS_MAX)]
    reason: Text
    appended_ms: TimeMs
    value: bytes | None
