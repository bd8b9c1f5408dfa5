"""Models in place of measurements: used where they are fresh and sure, and the flow says which number is which."""

from typing import Any

import pytest

from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import FlowModel, model_flow
from services.host.cell.known_models import KnownModels, is_warning
from tests.unit.cell.test_flow_model import REGIONS, counting, row
from topics.messages import ForecastModel, HotSpotModel, Model, RateModel, ServiceModel

NOW_S = 1_000.0


def made(body: Any, *, error: float | None = 0.05, second: int = 998, batch: int = 1) -> Model:
    key = f"{type(body).__name__}/{body.flow}/{getattr(body, 'operator', '')}/{getattr(body, 'host', '')}"
    return Model(key, second, 60, 50, error, 1, batch, body)


def forecast(per_s: float = 300.0, error: float = 15.0, now_per_s: float = 100.0) -> ForecastModel:
    return ForecastModel("f", "kept", now_per_s, (1, 10, 30), (120.0, per_s, 9_000.0), (5.0, error, 5.0))


def service(mean_us: float, host: str = "noc", cs2: float = 1.0) -> ServiceModel:
    return ServiceModel("f", "s", "kept", host, mean_us, cs2, 0.0, 100.0, 0)


def modelled(*models: Model, lag: int = 0) -> FlowModel:
    graph = counting()
    rows = [row(graph, "kept", second, arrivals=100, outputs=50, lag=second * lag) for second in range(10)]
    known = KnownModels()
    for model in models:
        known.add(model)
    return model_flow(
        graph, REGIONS, measure_flow(rows, {}, span_s=10), models=known.of("f", {"fast": 4.0}, now_s=NOW_S)
    )


@pytest.mark.parametrize(
    ("told", "per_ms"),
    [
        pytest.param(forecast(300.0), 0.3, id="it grows; 30 s ahead is beyond that"),
        pytest.param(forecast(110.0, now_per_s=900.0), 0.11, id="a spike that will be over"),
        pytest.param(forecast(300.0, error=299.0), 0.12, id="so far ahead nobody knows"),
    ],
)
def test_the_rate_is_what_is_forecast_for_when_ants_and_a_move_are_done(told: ForecastModel, per_ms: float) -> None:
    """Priced at one second's count, flows whose rates vary by chance seemed to fit nowhere just when they had to go."""
    flow = modelled(made(told))
    assert per_ms == pytest.approx(flow.flow.sources[0].rate_per_ms)
    assert "modelled" == flow.origins["s", "rate_per_ms"]


@pytest.mark.parametrize(
    "doubtful",
    [
        pytest.param((), id="missing"),
        pytest.param((made(forecast(), second=980),), id="old"),
        pytest.param((made(forecast(), second=1_010),), id="from before a clock was set back"),
        pytest.param((made(ForecastModel("f", "kept", 9e3, (1,), (9e3,), (8e3,))),), id="unsure"),
        pytest.param((made(ForecastModel("f", "kept", 9e3, (1,), (9e3,), (None,))),), id="error unknown"),
    ],
)
def test_a_doubtful_forecast_gives_way_to_what_was_measured_last(doubtful: tuple[Model, ...]) -> None:
    flow = modelled(*doubtful)
    assert 0.1 == pytest.approx(flow.flow.sources[0].rate_per_ms)
    assert "measured" == flow.origins["s", "rate_per_ms"]


@pytest.mark.parametrize(("age_s", "is_used"), [(20, True), (89, True), (95, False)])
def test_while_the_models_service_starts_again_what_lasts_is_used_on(age_s: int, is_used: bool) -> None:
    """A restart may take 60 s: what a record costs is the same meanwhile, what comes is not."""
    second = int(NOW_S) - age_s
    rate = RateModel("f", "s", "kept", 100.0, 100.0, 5, 2.5, 0.25)
    flow = modelled(*(made(each, second=second) for each in (forecast(), rate, service(3_000.0))))
    task = next(task.name for task in flow.flow.tasks)
    lasting = {flow.origins["s", "ca2"], flow.origins[task, "service_vwu"]}
    assert ({"modelled" if is_used else "default"}, "measured") == (lasting, flow.origins["s", "rate_per_ms"])


@pytest.mark.parametrize(("forecast_per_s", "used"), [(300.0, (0.3, "modelled")), (120.0, (0.15, "measured"))])
def test_a_backlog_that_grows_is_offered_load_whatever_a_model_says(
    forecast_per_s: float, used: tuple[float, str]
) -> None:
    """A forecast has it if it is new, and may be of more; one from before the backlog counts for less than it."""
    flow = modelled(made(forecast(forecast_per_s)), lag=50)
    assert used == (pytest.approx(flow.flow.sources[0].rate_per_ms), flow.origins["s", "rate_per_ms"])


def test_service_times_of_unequal_hosts_are_brought_to_capacity_one() -> None:
    """500 us at capacity 4 is 2 VWU, 1,000 us at capacity 1 is 1: half of the records each."""
    known = KnownModels()
    known.add(made(service(500.0, "fast", cs2=0.0)))
    known.add(made(service(1_000.0, "noc", cs2=0.0)))
    models = known.of("f", {"fast": 4.0}, now_s=NOW_S)
    assert models is not None
    assert (1.5, 0.25) == pytest.approx(models.service_vwu("kept"))


def test_of_a_key_the_newest_model_counts_however_they_come() -> None:
    rate = [RateModel("f", "s", "kept", 1.0, 1.0, 5, ca2, 0.5) for ca2 in (1.0, 2.0, 3.0)]
    known = KnownModels()
    for model in (made(rate[0], batch=1), made(rate[2], batch=3), made(rate[1], batch=2)):
        known.add(model)
    models = known.of("f", {}, now_s=NOW_S)
    assert models is not None
    assert 3.0 == models.ca2("kept")


def test_message_sizes_stay_those_that_were_measured_whatever_is_forecast() -> None:
    """Bytes of the last seconds over records of the next ones would be nonsense."""
    graph = counting()
    rows = [row(graph, "kept", second, arrivals=100, outputs=50, bytes_in=20_000) for second in range(10)]
    known = KnownModels()
    known.add(made(forecast()))
    models = known.of("f", {}, now_s=NOW_S)
    flow = model_flow(graph, REGIONS, measure_flow(rows, {}, span_s=10), models=models)
    assert 200 == pytest.approx(flow.flow.sources[0].message_bytes)


def test_what_nobody_trusts_any_more_is_forgotten() -> None:
    """Hosts of ever new names serve a flow for a while, in containers: a leader that lives for months knew them all."""
    known = KnownModels()
    for number in range(100):
        known.add(made(service(500.0, f"host-{number}"), second=900 + number))
    assert known.of("f", {}, now_s=NOW_S + 50) is not None
    assert 40 == known.count, "those of the last ninety seconds"
    assert known.of("f", {}, now_s=NOW_S + 90) is None
    assert 0 == known.count


def test_models_a_window_older_replace_those_from_before_a_clock_was_set_back() -> None:
    """Else those that will never be trusted again would keep all new ones out until time had caught up."""
    known = KnownModels()
    for second, ca2 in ((4_600, 1.0), (4_590, 2.0), (998, 3.0)):
        known.add(made(RateModel("f", "s", "kept", 1.0, 1.0, 5, ca2, 0.5), second=second))
    models = known.of("f", {}, now_s=NOW_S)
    assert models is not None
    assert 3.0 == models.ca2("kept")


@pytest.mark.parametrize(
    ("in_s", "second", "expected"),
    [(3.0, 998, True), (3.0, 980, False), (3.0, 1_010, False), (None, 998, False), (0.0, 991, True), (0.0, 988, False)],
)
def test_a_warning_is_heard_until_its_time_has_passed(in_s: float | None, second: int, expected: bool) -> None:
    assert expected is is_warning(made(HotSpotModel("f", "noc", "kept", in_s, -1.0, 0.9), second=second), now_s=NOW_S)
