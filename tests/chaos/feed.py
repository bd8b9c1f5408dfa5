"""The records of a scenario, and the thread that feeds them while faults happen.

Each source partition is a stream in event time, out of order within the lateness, with some records that are late, some
that are poison, and one last record at the same time everywhere: so at rest every watermark is at the same place,
whatever happened on the way.
"""

import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from services.host.partitioner import Partitioner
from tests.chaos.functions import UNLUCKY
from tests.chaos.ground import until

USERS, ITEMS = 12, 5
BEGIN_MS = 1_700_000_000_000
FUTURE_MS = 4_102_444_800_000
"""The year 2100."""
STEP_MS = 40
LATENESS_MS = 2_000

POISON = (b"{broken", b"[1, 2]", b'{"n": 1, "user": "u0"}', b"\xff\xfe", b'"text"')
"""No JSON, no object, no time, no text, no object."""


@dataclass(frozen=True)
class Piece:
    """One record, and when in the run it is sent."""

    at_s: float
    source: str
    partition: int
    key: bytes
    value: bytes


def pieces(
    seed: int,
    sources: Sequence[str],
    *,
    partitions: int,
    records: int,
    lasts_s: float,
    poison_at_s: Sequence[float],
    begin_ms: int = BEGIN_MS,
) -> list[Piece]:
    """All records of a scenario in the order of sending; the same for the same seed. `begin_ms`: of event time."""
    rng = random.Random(seed)
    partitioner = Partitioner(partitions, 0)
    made: list[Piece] = []
    newest_ms = begin_ms
    for n in range(records):
        source = rng.choice(sources)
        newest_ms += rng.randrange(2 * STEP_MS)
        time_ms = newest_ms - rng.choice((0, 0, 0, rng.randrange(LATENESS_MS // 2)))
        if rng.random() < 0.01:
            time_ms = newest_ms - 20 * LATENESS_MS
        made.append(_piece(lasts_s * n / records, source, partitioner, _record(rng, n, time_ms)))
    for at_s in poison_at_s:
        for _ in range(rng.randrange(1, 6)):
            key = f"u{rng.randrange(USERS)}".encode()
            made.append(Piece(at_s, rng.choice(sources), _one(partitioner, key), key, rng.choice(POISON)))
    made.sort(key=lambda piece: piece.at_s)
    for source in sources:
        for partition in range(partitions):
            user = next(name for i in range(1_000) if _one(partitioner, (name := f"end{i}").encode()) == partition)
            last = {"n": records, "user": user, "item": "i0", "size": 3, "tags": ["end"], "t": newest_ms + 1}
            made.append(_piece(lasts_s, source, partitioner, last))
    return made


def _record(rng: random.Random, n: int, time_ms: int) -> dict[str, object]:
    size = UNLUCKY if rng.random() < 0.01 else rng.randrange(10)
    tags = [rng.choice("abc") for _ in range(rng.randrange(3))]
    user, item = f"u{rng.randrange(USERS)}", f"i{rng.randrange(ITEMS)}"
    return {"n": n, "user": user, "item": item, "size": size, "tags": tags, "note": "x" * 20, "t": time_ms}


def _piece(at_s: float, source: str, partitioner: Partitioner, record: dict[str, object]) -> Piece:
    key = str(record["user"]).encode()
    return Piece(at_s, source, _one(partitioner, key), key, json.dumps(record).encode())


def _one(partitioner: Partitioner, key: bytes) -> int:
    spread = partitioner.spread([key])
    return spread if isinstance(spread, int) else spread[0]


class Feeder:
    """Sends the pieces, each at its time, and each exactly once, however often the broker is away."""

    def __init__(self, bootstrap: str, topics: dict[str, str], fed: Sequence[Piece]) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 0,  # for ever
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._topics = topics
        self._fed = fed
        self._faults: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Returns when the broker has everything."""
        self._thread.join()
        until(lambda: not self._producer.flush(1.0), "the broker has taken all records")
        assert not self._faults, f"{self._faults[0]}: the fault test itself is broken"

    def stop(self) -> None:
        """Give up, for a run that has failed."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        begun_s = time.monotonic()
        for piece in self._fed:
            while (wait_s := begun_s + piece.at_s - time.monotonic()) > 0:
                self._producer.poll(0)
                if self._stop.wait(min(wait_s, 0.05)):
                    return
            self._producer.produce(
                self._topics[piece.source], piece.value, piece.key, partition=piece.partition, on_delivery=self._told
            )

    def _told(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._faults.append(error.str())
