"""Metrics of made-up hosts at a steady pace, as hosts would write them: for measuring and testing the models."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from confluent_kafka import Message, Producer

from topics.catalogue import METRICS_OPERATORS
from topics.messages import Moments, OperatorMetrics

OPERATORS_PER_FLOW = 10
OPERATORS_PER_HOST = 50
SLICES_PER_S = 10
SERVICE_US = 20.0
FLUSH_TIMEOUT_S = 240.0

_ENCODE = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Feed:
    """So many operators, each with so many partitions and one row a partition and second. Seeded."""

    operators: int
    partitions: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        assert self.operators > 0, self
        assert self.partitions > 0, self

    def rows(self, second: int) -> list[OperatorMetrics]:
        """What all of them measured in a second. Rates go up and down within a minute, each in its own way."""
        rng = np.random.default_rng((self.seed, second))
        number = np.repeat(np.arange(self.operators), self.partitions)
        partition = np.tile(np.arange(self.partitions), self.operators)
        usual = 100.0 * (1 + number % 7)
        wave = 1 + 0.5 * np.sin(2 * math.pi * (second % 60) / 60 + number % 5)
        arrivals = rng.poisson(usual * wave)
        service_us = SERVICE_US * rng.uniform(0.9, 1.1, len(number))
        each = zip(number.tolist(), partition.tolist(), arrivals.tolist(), service_us.tolist(), strict=True)
        return [operator_row(operator, part, second, count, time_us) for operator, part, count, time_us in each]


def operator_row(
    operator: int, partition: int, second: int, arrivals: int, service_us: float = SERVICE_US
) -> OperatorMetrics:
    """One row: ca2 1, cs2 0.5, half of the records go on."""
    flow = f"bench-{operator // OPERATORS_PER_FLOW}"
    return OperatorMetrics(
        host=f"host-{operator // OPERATORS_PER_HOST}",
        flow=flow,
        segment=f"{flow}.{operator % OPERATORS_PER_FLOW // 5}",
        operator=f"operator-{operator % OPERATORS_PER_FLOW}",
        partition=partition,
        second=second,
        arrivals=arrivals,
        gaps_us=Moments.rounded(arrivals, 1e6, 2e12 / max(arrivals, 1)),
        batch=Moments.rounded(arrivals, arrivals / 2, arrivals / 2),
        service_us=Moments.rounded(arrivals, arrivals * service_us, 1.5 * arrivals * service_us**2),
        wait_us=Moments.rounded(arrivals, arrivals * 500.0, arrivals * 5e5),
        outputs=arrivals // 2,
        lag=0,
        bytes_in=arrivals * 200,
        bytes_out=arrivals * 100,
        state_bytes=4_096,
        late=0,
        dropped=0,
        dead_letters=0,
    )


class Feeder:
    """Writes rows to a broker as hosts do. `appended_ms`: when the broker got rows that were to be watched."""

    def __init__(self, bootstrap: str) -> None:
        self.written = 0
        self.appended_ms: dict[tuple[str, int], int] = {}
        """By the key of the rate model, and the second."""
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 5, "compression.type": "gzip", "log_level": 0}
        )

    def write_second(self, rows: Sequence[OperatorMetrics], second: int) -> None:
        """Writes the rows spread over this second, by the clock; those of a slice that is over at once."""
        size = -(-len(rows) // SLICES_PER_S)
        for place in range(SLICES_PER_S):
            time.sleep(max(0.0, second + place / SLICES_PER_S - time.time()))
            part = rows[place * size : (place + 1) * size]
            self.write(part[1:])
            for row in part[:1]:
                self._write(row, self._watch(row))
            self._producer.poll(0)

    def write(self, rows: Iterable[OperatorMetrics]) -> None:
        """Writes rows now."""
        for row in rows:
            self._write(row, None)

    def write_value(self, topic: str, value: bytes, key: str = "x") -> None:
        """Writes any bytes."""
        self._producer.produce(topic, value, key=key)

    def flush(self) -> None:
        """Returns when the broker has all of them."""
        left = self._producer.flush(FLUSH_TIMEOUT_S)
        assert left == 0, f"{left} rows are not with the broker after {FLUSH_TIMEOUT_S:.0f} s"

    def _write(self, row: OperatorMetrics, on_delivery: Callable[[object, Message], None] | None) -> None:
        topic = METRICS_OPERATORS
        value = _ENCODE(row)
        self._producer.produce(topic.name, value, key=row.host, on_delivery=on_delivery)
        self.written += 1

    def _watch(self, row: OperatorMetrics) -> Callable[[object, Message], None]:
        def delivered(error: object, message: Message) -> None:
            if error is None:
                self.appended_ms[f"rate/{row.flow}/{row.operator}", row.second] = message.timestamp()[1]

        return delivered
