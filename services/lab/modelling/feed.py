"""Metrics of made-up hosts at a steady pace, as hosts would write them: for measuring and testing the models.

Operators are chains of ten, a flow each, with a bound: so that all models are made, slack and hot spots too.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from confluent_kafka import Message, Producer

from services.lab.dataplane.ground import BenchError
from topics.catalogue import FLOWS, METRICS_HOSTS, METRICS_LINKS, METRICS_OPERATORS
from topics.messages import FlowRevision, HostMetrics, LinkMetrics, Moments, OperatorMetrics, Sketch

OPERATORS_PER_FLOW = 10
OPERATORS_PER_SEGMENT = 5
OPERATORS_PER_HOST = 50
PEERS = 3
"""Other hosts that a host probes, beside a broker."""
BOUND_MS = 250
TIGHT_BOUND_MS = 55
TIGHT_EVERY = 20
"""One flow in so many has a bound that its latency comes near, and breaks now and then."""
LATENCY_MS, LATENCY_SWING_MS = 50.0, 8.0
TIMED = 4
"""Records of a partition and second whose latency is told."""
SLICES_PER_S = 10
SERVICE_US = 20.0
FLUSH_TIMEOUT_S = 240.0
QUEUE_TIMEOUT_S = 60.0
QUEUE_POLL_S = 0.1

Row = OperatorMetrics | HostMetrics | LinkMetrics
_TOPICS: dict[type[Row], str] = {
    OperatorMetrics: METRICS_OPERATORS.name,
    HostMetrics: METRICS_HOSTS.name,
    LinkMetrics: METRICS_LINKS.name,
}
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

    @property
    def hosts(self) -> int:
        return -(-self.operators // OPERATORS_PER_HOST)

    def rows(self, second: int) -> list[OperatorMetrics]:
        """What all of them measured in a second. Rates go up and down within a minute, each in its own way, and jump
        with those of their flow: in its second segment a second later."""
        rng = np.random.default_rng((self.seed, second))
        number = np.repeat(np.arange(self.operators), self.partitions)
        partition = np.tile(np.arange(self.partitions), self.operators)
        usual = 100.0 * (1 + number % 7)
        wave = 1 + 0.5 * np.sin(2 * math.pi * (second % 60) / 60 + number % 5)
        flow, is_second = number // OPERATORS_PER_FLOW, number % OPERATORS_PER_FLOW >= OPERATORS_PER_SEGMENT
        jump = np.where(is_second, self._jumps(second - 1)[flow], self._jumps(second)[flow])
        arrivals = rng.poisson(usual * wave * jump)
        service_us = SERVICE_US * rng.uniform(0.9, 1.1, len(number))
        swing = np.sin(2 * math.pi * (second % 120) / 120 + flow)
        latencies_ms = rng.normal(LATENCY_MS + LATENCY_SWING_MS * swing[:, None], 1.0, (len(number), TIMED))
        is_last = (number % OPERATORS_PER_FLOW == OPERATORS_PER_FLOW - 1) | (number == self.operators - 1)
        each = zip(
            number.tolist(), partition.tolist(), arrivals.tolist(), service_us.tolist(), is_last.tolist(), strict=True
        )
        return [
            operator_row(operator, part, second, count, time_us, latencies_ms[place].tolist() if last else ())
            for place, (operator, part, count, time_us, last) in enumerate(each)
        ]

    def _jumps(self, second: int) -> np.ndarray:
        """Of the rate of each flow in this second."""
        rng = np.random.default_rng((self.seed, second, 2))
        return rng.lognormal(0.0, 0.2, -(-self.operators // OPERATORS_PER_FLOW))

    def more_rows(self, second: int) -> Iterator[HostMetrics | LinkMetrics]:
        """What hosts tell of themselves, and of their ways to a broker and to some other hosts."""
        rng = np.random.default_rng((self.seed, second, 1))
        for host in range(self.hosts):
            yield host_row(host, second)
            peers = sorted({(host + step) % self.hosts for step in range(1, PEERS + 1)} - {host})
            for peer in ("broker/1", *(f"host-{peer}" for peer in peers)):
                trips_ms = rng.gamma(20.0, 0.5, 2).tolist()
                yield LinkMetrics(
                    host=f"host-{host}", peer=peer, second=second, sent=2, lost=0, round_trip_ms=Sketch.of(trips_ms)
                )

    def flows(self, now_ms: int) -> Iterator[FlowRevision]:
        """The flows that these operators belong to."""
        for flow in range(-(-self.operators // OPERATORS_PER_FLOW)):
            count = min(OPERATORS_PER_FLOW, self.operators - flow * OPERATORS_PER_FLOW)
            yield flow_of(flow, count, now_ms)


def flow_of(number: int, operators: int, now_ms: int) -> FlowRevision:
    """A chain of so many operators with a bound."""
    name = f"bench-{number}"
    bound_ms = TIGHT_BOUND_MS if number % TIGHT_EVERY == TIGHT_EVERY - 1 else BOUND_MS
    inputs = ["records", *(f"operator-{place}" for place in range(operators))]
    lines = [
        f"flow: {name}",
        f"qos: {{latency_ms: {bound_ms}}}",
        "sources:",
        f"  records: {{topic: {name}.in}}",
        "operators:",
        *(f'  operator-{place}: {{op: filter, input: {inputs[place]}, where: "n > 0"}}' for place in range(operators)),
        "sinks:",
        f"  out: {{input: {inputs[-1]}, topic: {name}.out}}",
        "",
    ]
    return FlowRevision(
        flow=name,
        revision=1,
        state="submitted",
        text="\n".join(lines),
        delivery="at_least_once",
        changed_ms=now_ms,
    )


def operator_row(  # noqa: PLR0917 - what differs between rows
    operator: int,
    partition: int,
    second: int,
    arrivals: int,
    service_us: float = SERVICE_US,
    latencies_ms: Sequence[float] = (),
) -> OperatorMetrics:
    """One row: ca2 1, cs2 0.5, half of the records go on."""
    flow = f"bench-{operator // OPERATORS_PER_FLOW}"
    return OperatorMetrics(
        host=f"host-{operator // OPERATORS_PER_HOST}",
        flow=flow,
        segment=f"{flow}.{operator % OPERATORS_PER_FLOW // OPERATORS_PER_SEGMENT}",
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
        latency_ms=Sketch.of(latencies_ms) if latencies_ms else None,
    )


def host_row(number: int, second: int) -> HostMetrics:
    """A host with half a core to do."""
    return HostMetrics(
        host=f"host-{number}",
        boot_id="bench",
        second=second,
        cpu=0.5,
        memory_bytes=300_000_000,
        capacity=1.0,
        operators=OPERATORS_PER_HOST,
        loop_delay_ms=Moments.rounded(10, 5.0, 4.0),
        loop_delay_ms_max=2.0,
        clock_offset_ms=0.5,
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

    def write_second(self, rows: Sequence[OperatorMetrics], second: int, more: Iterable[Row] = ()) -> None:
        """Writes the rows spread over this second, by the clock, `more` at its end; those of a slice that is over at
        once."""
        size = -(-len(rows) // SLICES_PER_S)
        for place in range(SLICES_PER_S):
            time.sleep(max(0.0, second + place / SLICES_PER_S - time.time()))
            part = rows[place * size : (place + 1) * size]
            self.write(part[1:])
            for row in part[:1]:
                self._write(row, self._watch(row))
            self._producer.poll(0)
        self.write(more)

    def write(self, rows: Iterable[Row]) -> None:
        """Writes rows now."""
        for row in rows:
            self._write(row, None)

    def write_flows(self, flows: Iterable[FlowRevision]) -> None:
        """Registers flows; returns when the broker has them."""
        for flow in flows:
            self._produce(FLOWS.name, FLOWS.codec.encode(flow, topic=FLOWS.name), flow.flow, None)
        self.flush()

    def write_value(self, topic: str, value: bytes, key: str = "x") -> None:
        """Writes any bytes."""
        self._produce(topic, value, key, None)

    def flush(self) -> None:
        """Returns when the broker has all of them."""
        left = self._producer.flush(FLUSH_TIMEOUT_S)
        if left:
            raise BenchError(f"{left} rows are not with the broker after {FLUSH_TIMEOUT_S:.0f} s")

    def _write(self, row: Row, on_delivery: Callable[[object, Message], None] | None) -> None:
        self._produce(_TOPICS[type(row)], _ENCODE(row), row.host, on_delivery)
        self.written += 1

    def _produce(
        self, topic: str, value: bytes, key: str, on_delivery: Callable[[object, Message], None] | None
    ) -> None:
        """Where the client's queue is full, as while a broker starts again, waits until there is room."""
        until_s = time.monotonic() + QUEUE_TIMEOUT_S
        while True:
            try:
                self._producer.produce(topic, value, key=key, on_delivery=on_delivery)
                return
            except BufferError as fault:
                if time.monotonic() > until_s:
                    raise BenchError(f"the broker takes no rows for {QUEUE_TIMEOUT_S:.0f} s: {fault}") from fault
                self._producer.poll(QUEUE_POLL_S)

    def _watch(self, row: OperatorMetrics) -> Callable[[object, Message], None]:
        def delivered(error: object, message: Message) -> None:
            if error is None:
                self.appended_ms[f"rate/{row.flow}/{row.operator}", row.second] = message.timestamp()[1]

        return delivered
