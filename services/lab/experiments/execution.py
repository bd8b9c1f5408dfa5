"""Execution times of a live host under a load ramp, predicted second by second (Synergy 3.3.2).

A real host on a real broker runs a stateful flow; the load rises and falls. What the host publishes of itself is read
from its metrics topic. At every second the line of the window before it, fitted as the modelling service does it, tells
the time of the second to come at the rate which that then has: so the line is judged, and not the forecast of the rate.

What a record waits is no part of these times (decision 0279).
"""

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from placement.fits import Array, fit_execution
from services.embedded import EmbeddedStack, StackParams
from services.host.cell.known_models import KnownModels
from services.lab.dataplane.contestants import host_command
from services.lab.dataplane.ground import Ground
from services.lab.dataplane.trial import running
from services.lab.dataplane.workloads import COUNT_SUM
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.samples import Sample
from services.lab.targets import AtLeast, AtMost
from services.modelling.params import FitParams
from services.registry.submit import submit
from services.settings import load_settings
from topics import catalogue
from topics.errors import MessageError
from topics.messages import ForecastModel, Model, OperatorMetrics, RateModel, ServiceModel
from topics.messages.models import AnyBody

WINDOW_S = FitParams().window_s
SLOWEST_PER_S, FASTEST_PER_S = 500.0, 8_000.0
PERIOD_S = 50.0
"""The ramp goes up and down once in this time."""
SECONDS = WINDOW_S + 2 * PERIOD_S
"""Two ramps are judged."""
KEYS = 1_000
COUNT_MIN = 20
TICK_S = 0.005
READY_TIMEOUT_S = 120.0
ASKED_HOSTS = 8
"""Hosts of an operator that the brain asks about."""


def _execution(trial: Trial) -> list[Sample]:
    with (
        tempfile.TemporaryDirectory(prefix="stig-execution-", ignore_cleanup_errors=True) as folder,
        _stack(Path(folder)) as stack,
    ):
        ground = Ground(stack.bootstrap, (), Path(folder), Path(folder), _silent, _silent)
        source, sink = ground.new_topic("source"), ground.new_topic("sink")
        submit(ground.bootstrap, COUNT_SUM.flow("ramp", source=source, sink=sink), hosts=["ramped"])
        with running([host_command(ground, "ramped")], ground.folder / "host.log"):
            rows = _ramped(ground.bootstrap, source, np.random.default_rng(trial.seed))
    return _judged(*_pairs(rows), seed=trial.seed)


def _stack(folder: Path) -> EmbeddedStack:
    settings = load_settings().settings
    return EmbeddedStack(StackParams(home=folder / "stack", kafka_home=settings.kafka_home, cache=settings.cache))


def _silent(_: str) -> None:
    return


def _ramped(bootstrap: str, source: str, rng: np.random.Generator) -> list[OperatorMetrics]:
    """Feed the host for a while; what it published of itself meanwhile."""
    rows: list[OperatorMetrics] = []
    stop = threading.Event()
    reader = threading.Thread(target=_read, args=(bootstrap, rows, stop), daemon=True)
    reader.start()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    try:
        # The host starts meanwhile: the ramp counts from its first rows on.
        _feed(producer, source, rng, lambda _: SLOWEST_PER_S, until=lambda: bool(rows), seconds=READY_TIMEOUT_S)
        _feed(producer, source, rng, _ramp, until=lambda: False, seconds=SECONDS)
    finally:
        producer.flush(10)
        stop.set()
        reader.join()
    return rows


def _ramp(at_s: float) -> float:
    share = 1.0 - abs(2.0 * (at_s / PERIOD_S % 1.0) - 1.0)
    return SLOWEST_PER_S + share * (FASTEST_PER_S - SLOWEST_PER_S)


def _feed(
    producer: Producer,
    topic: str,
    rng: np.random.Generator,
    rate: Callable[[float], float],
    *,
    until: Callable[[], bool],
    seconds: float,
) -> None:
    """Poisson arrivals at a rate that changes."""
    began_s = last_s = time.monotonic()
    while (now_s := time.monotonic()) - began_s < seconds and not until():
        for key in rng.integers(0, KEYS, rng.poisson(rate(now_s - began_s) * (now_s - last_s))).tolist():
            value = b'{"ts":%d,"src":"%08d","bytes":700}' % (time.time_ns() // 1_000_000, key)
            with suppress(BufferError):  # a host that is too slow shows in its own figures
                producer.produce(topic, value, b"%08d" % key)
        last_s = now_s
        producer.poll(0)
        time.sleep(TICK_S)


def _read(bootstrap: str, rows: list[OperatorMetrics], stop: threading.Event) -> None:
    topic = catalogue.METRICS_OPERATORS
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "execution", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic.name, number, 0) for number in range(topic.declare().partitions)])
    while not stop.is_set():
        for message in consumer.consume(500, timeout=0.2):
            if message.error() is None:
                with suppress(MessageError):
                    rows.append(topic.codec.decode(message.value(), topic=topic.name, partition=0, offset=0))
    consumer.close()


def _pairs(rows: list[OperatorMetrics]) -> tuple[Array, Array]:
    """Second by second: arrivals at all operators of the host, and the mean service time of a record; NaN for few."""
    seconds = sorted({row.second for row in rows})[1:-1]
    rates, served, spent = (dict.fromkeys(seconds, 0.0) for _ in range(3))
    for row in rows:
        if row.second in rates:
            rates[row.second] += row.arrivals
            served[row.second] += row.service_us.count
            spent[row.second] += row.service_us.sum
    times = [spent[each] / served[each] if served[each] >= COUNT_MIN else np.nan for each in seconds]
    return np.array([rates[each] for each in seconds]), np.array(times)


def _judged(rates: Array, times_us: Array, *, seed: int) -> list[Sample]:
    made = np.arange(WINDOW_S, len(rates))
    windows = made[:, None] - np.arange(WINDOW_S, 0, -1)
    fit = fit_execution(np.where(np.isfinite(times_us), rates, np.nan)[windows], times_us[windows])
    told, error = fit.predict(rates[made])
    known = np.isfinite(told) & np.isfinite(times_us[made])
    told, error, seen = told[known], error[known], times_us[made][known]
    alone = fit_execution(rates[None, :WINDOW_S], times_us[None, :WINDOW_S])
    each_ms = _timed_ms(lambda: alone.predict(rates[:1]))
    asked_ms = max(_timed_ms(ask) for ask in brain_questions().values())
    missed = np.abs(told - seen)
    over_last = float(missed[1:].sum() / np.abs(np.diff(seen)).sum())
    lines = (("measured", seen), ("predicted", told))
    return [
        Sample("error of an execution time, median", float(np.median(missed / seen)), "share", seed=seed),
        Sample("inside one standard error", float(np.mean(missed <= error)), "share", "0.68", seed=seed),
        Sample("error, over it", over_last, "ratio", "last value", seed=seed),
        Sample("execution time, mean", float(seen.mean()), "us", seed=seed),
        Sample("rate of the host, slowest", float(rates[made].min()), "1/s", seed=seed),
        Sample("rate of the host, fastest", float(rates[made].max()), "1/s", seed=seed),
        Sample("seconds judged", float(len(seen)), "s", seed=seed),
        Sample("one prediction by the line", each_ms, "ms", seed=seed),
        Sample("one prediction in the brain, slowest question", asked_ms, "ms", seed=seed),
        *(
            Sample("", float(value), "us", seed=seed, series=label, x=float(second))
            for label, line in lines
            for second, value in enumerate(line)
        ),
    ]


def brain_questions() -> dict[str, Callable[[], object]]:
    """What a leader asks the models of its flow (`flow_model`), of one operator that runs on several hosts."""
    known, now_s = KnownModels(), 1_000
    bodies: dict[str, AnyBody] = {
        "rate/f/o": RateModel("f", "s", "o", 100.0, 110.0, 10, 1.0, 0.5),
        "forecast/f/o": ForecastModel("f", "o", 100.0, (1, 10, 60), (101.0, 105.0, 110.0), (1.0, 2.0, 5.0)),
    }
    for host in range(ASKED_HOSTS):
        bodies[f"service/f/o/h{host}"] = ServiceModel("f", "s", "o", f"h{host}", 20.0, 0.5, 0.0, 100.0, 60)
    for key, body in bodies.items():
        known.add(Model(key, now_s, 120, 120, 0.05, 0, 0, body))
    models = known.of("f", {}, now_s=now_s)
    assert models is not None
    return {
        "rate": lambda: models.rate_per_s("o"),
        "variation": lambda: models.ca2("o"),
        "selectivity": lambda: models.selectivity("o"),
        "service": lambda: models.service_vwu("o"),
    }


def _timed_ms(ask: Callable[[], object]) -> float:
    """The mean of many calls, by the processor's clock: what others do on the machine is no part of a prediction."""
    began_s, repeated = time.thread_time(), 1_000
    for _ in range(repeated):
        ask()
    return (time.thread_time() - began_s) * 1e3 / repeated


EXECUTION = Experiment(
    name="models/execution",
    question="How well does a line tell the execution times of a live host whose load rises and falls?",
    paper="the predicted execution time follows the measured one (Synergy figures 3.11 to 3.15; no numbers)",
    trial=_execution,
    timed=True,
    seeds=1,
    targets=(
        AtMost("error of an execution time, median", 0.10),
        # About 68 %.
        AtLeast("inside one standard error", 0.60),
        AtMost("inside one standard error", 0.76),
        AtMost("one prediction in the brain, slowest question", 0.1),
    ),
    takes_topology=False,
    x_label="time (s)",
    y_label="execution time (us)",
)
