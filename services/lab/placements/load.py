"""Records at the sources, results at the sinks: sent and read in the regions where these stand, by one clock.

A record is about 100 bytes of JSON.
"""

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Producer, TopicPartition

TICK_S = 0.005
POLL_S = 0.2
USERS, TEAMS = 50, 5
TEXT = """
flow: NAME
sources:
  clicks: {topic: NAME-clicks, at: SOURCE, key: id}
operators:
  wanted: {op: filter, input: clicks, where: "sent > 0"}
  users: {op: aggregate, input: wanted, by: [user, team], emit: {n: count(), sent: max(sent)}}
"""
SHORT = (
    TEXT
    + """
sinks:
  out: {input: users, topic: NAME-counts, at: SINK, key: user}
"""
)
LONG = (
    TEXT
    + """
  teams: {op: aggregate, input: users, by: [team], emit: {n: count(), sent: max(sent)}}
sinks:
  out: {input: teams, topic: NAME-counts, at: SINK, key: team}
"""
)
"""Two or three segments, for what is counted by user came by id, and what is counted by team came by user. Each record
gives one result, which says when it was sent."""


@dataclass(frozen=True, slots=True)
class Route:
    """A flow from one region to another, in two segments or in three."""

    flow: str
    source: str
    sink: str
    is_long: bool = False

    @property
    def text(self) -> str:
        """Its file."""
        text = LONG if self.is_long else SHORT
        return text.replace("NAME", self.flow).replace("SOURCE", self.source).replace("SINK", self.sink)

    @property
    def topics(self) -> dict[str, str]:
        """Topic -> the region that leads it."""
        return {f"{self.flow}-clicks": self.source, f"{self.flow}-counts": self.sink}


@dataclass(slots=True)
class Load:
    """All routes at once, from `start` to `stop`. `bootstraps`: how clients of a region reach the brokers.

    `linger_ms`: how long the senders' client waits for more records; 0 where every record's latency is looked at.
    """

    routes: tuple[Route, ...]
    bootstraps: Mapping[str, str]
    per_s: float
    linger_ms: float = 0.0
    _sent: Counter[str] = field(default_factory=Counter)
    """Region -> records so far."""
    _latencies_ms: dict[str, list[float]] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin to send and to read."""
        work = [(self._send, region) for region in sorted({route.source for route in self.routes})]
        work += [(self._read, region) for region in sorted({route.sink for route in self.routes})]
        self._threads = [threading.Thread(target=target, args=(region,), daemon=True) for target, region in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def measured(self, for_s: float) -> dict[str, list[float]]:
        """The latencies of the results that come from now on, for so long, by flow."""
        self._latencies_ms = {route.flow: [] for route in self.routes}
        self._stop.wait(for_s)
        return dict(self._latencies_ms)

    @property
    def sent(self) -> int:
        """Records so far."""
        return sum(self._sent.values())

    def _send(self, region: str) -> None:
        topics = [f"{route.flow}-clicks" for route in self.routes if route.source == region]
        producer = Producer({"bootstrap.servers": self.bootstraps[region], "linger.ms": self.linger_ms, "log_level": 0})
        begin_s, sent = time.monotonic(), 0
        while not self._stop.wait(TICK_S):
            due = int((time.monotonic() - begin_s) * self.per_s)
            for number in range(sent, due):
                value, key = _click(number), str(number)
                for topic in topics:
                    _send_one(producer, topic, value, key)
            self._sent[region] += (due - sent) * len(topics)
            sent = due
            producer.poll(0)
        producer.flush(5)

    def _read(self, region: str) -> None:
        flows = {f"{route.flow}-counts": route.flow for route in self.routes if route.sink == region}
        settings = {"bootstrap.servers": self.bootstraps[region], "group.id": uuid.uuid4().hex, "log_level": 0}
        consumer = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_uncommitted"})
        consumer.assign([TopicPartition(topic, 0, 0) for topic in flows])
        while not self._stop.is_set():
            # One by one: to consume several would wait for the last of them, or for the timeout.
            message = consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                latency_ms = (time.time_ns() / 1e3 - json.loads(message.value() or b"{}")["sent"]) / 1e3
                self._latencies_ms.setdefault(flows[str(message.topic())], []).append(latency_ms)
        consumer.close()


def _click(number: int) -> str:
    user = number % USERS
    page = f"/shelf/{number % 97:02d}/of-many-things"
    return (
        f'{{"id": {number}, "user": "u{user}", "team": {user % TEAMS}, "page": "{page}", '
        f'"sent": {time.time_ns() // 1_000}}}'
    )


def _send_one(producer: Producer, topic: str, value: str, key: str) -> None:
    """Where the client's queue is full there is a moment's wait, and no end of the sender."""
    while True:
        try:
            return producer.produce(topic, value, key)
        except BufferError:
            producer.poll(0.01)
